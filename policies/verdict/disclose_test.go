package verdict

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

func TestWhatANamespaceGets(t *testing.T) {
	own := plan.FailedObject{Namespace: "mine", Reason: "Invalid", Text: "mine/a: Invalid: no"}
	others := plan.FailedObject{Namespace: "theirs", Reason: "Invalid", Text: "theirs/secret: Invalid: secret"}
	clusters := plan.FailedObject{Reason: "Rejected", Text: "secret: Rejected: secret"}
	counted := func(reason, text string) plan.FailedObject { return plan.FailedObject{Reason: reason, Text: text} }
	for name, c := range map[string]struct {
		failures []plan.FailedObject
		failed   map[string]int64
		want     []plan.FailedObject
	}{
		"its own object, in full":                 {[]plan.FailedObject{own}, map[string]int64{"Invalid": 1}, []plan.FailedObject{own}},
		"another's as a count":                    {[]plan.FailedObject{others}, map[string]int64{"Invalid": 1}, []plan.FailedObject{counted("Invalid", "1 object of other namespaces, or too many to name: Invalid")}},
		"an object without a namespace likewise":  {[]plan.FailedObject{clusters}, map[string]int64{"Rejected": 1}, []plan.FailedObject{counted("Rejected", "1 object of other namespaces, or too many to name: Rejected")}},
		"both, and all that were too many":        {[]plan.FailedObject{own, others}, map[string]int64{"Invalid": 500}, []plan.FailedObject{own, counted("Invalid", "499 objects of other namespaces, or too many to name: Invalid")}},
		"each reason":                             {[]plan.FailedObject{others, clusters}, map[string]int64{"Invalid": 2, "Rejected": 3}, []plan.FailedObject{counted("Invalid", "2 objects of other namespaces, or too many to name: Invalid"), counted("Rejected", "3 objects of other namespaces, or too many to name: Rejected")}},
		"nothing":                                 {},
		"nothing of which nobody has kept counts": {failures: []plan.FailedObject{others}},
	} {
		t.Run(name, func(t *testing.T) {
			told := Disclose(plan.MigrationStatus{FailedObjects: c.failures, FailedBy: c.failed}, "mine")
			NewWithT(t).Expect(told.FailedObjects).To(Equal(c.want))
		})
	}
}

// Half of the room is for what a namespace may not know by name, if there is as much of it.
func TestAStatusHasRoomForTwentyFailures(t *testing.T) {
	for name, c := range map[string]struct {
		own, reasons         int
		wantOwn, wantCounted int
	}{
		"its own fill what others leave":       {own: 30, wantOwn: 20},
		"few of others take little":            {own: 30, reasons: 3, wantOwn: 17, wantCounted: 3},
		"many of others leave half to its own": {own: 30, reasons: 15, wantOwn: 10, wantCounted: 10},
		"and take no more where it has few":    {own: 2, reasons: 15, wantOwn: 2, wantCounted: 10},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := plan.MigrationStatus{FailedBy: map[string]int64{"Invalid": int64(c.own)}}
			for i := range c.own {
				s.FailedObjects = append(s.FailedObjects, plan.FailedObject{Namespace: "mine", Reason: "Invalid", Text: fmt.Sprintf("mine/%d: Invalid: no", i)})
			}
			for i := range c.reasons {
				s.FailedBy[fmt.Sprintf("Reason%d", i)] = 1
			}
			own, counted := 0, 0
			for _, f := range Disclose(s, "mine").FailedObjects {
				if f.Namespace == "mine" {
					own++
				} else {
					counted++
				}
			}
			g.Expect(own).To(Equal(c.wantOwn))
			g.Expect(counted).To(Equal(c.wantCounted))
		})
	}
}

func TestATroubleIsReportedWithoutNames(t *testing.T) {
	for name, c := range map[string]struct {
		failure plan.Failure
		want    string
	}{
		"counts":                     {plan.Failure{Reason: "ObjectsFailed", Message: "1 of 7 objects failed: theirs/secret: no", Public: "1 of 7 objects failed"}, "1 of 7 objects failed; the CRD's condition and Events have the details"},
		"one that has no such words": {plan.Failure{Reason: "Odd", Message: "theirs/secret is odd"}, "held up by Odd; the CRD's condition and Events have the details"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := plan.MigrationStatus{Decision: plan.Decision{Reason: c.failure.Reason, Sentence: c.failure.Message}}
			s.Evidence.Failure, s.Evidence.Survey.Failure = &c.failure, &c.failure
			before := c.failure
			told := Disclose(s, "mine")
			g.Expect(told.Decision.Sentence).To(Equal(c.want))
			g.Expect(told.Evidence.Failure.Message).To(Equal(c.want))
			g.Expect(told.Evidence.Survey.Failure.Message).To(Equal(c.want))
			g.Expect(c.failure).To(Equal(before), "what others read is not changed")
		})
	}
}

// Whatever is judged, an answer shows nothing of what lies in another namespace.
func TestAnAnswerKeepsTheSecretsOfOtherNamespaces(t *testing.T) {
	check(t, func(t *rapid.T, s Situation) {
		if s.Migration == nil {
			return
		}
		surround(t, s.Migration)
		told := Disclose(*s.Migration, "mine")
		s.Migration = &told
		answer, err := json.Marshal(Judge(s))
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.ReplaceAll(string(answer), "--secrets", "")).NotTo(ContainSubstring("secret"))
	})
}

// surround puts a secret wherever a walk may have found one.
func surround(t *rapid.T, s *plan.MigrationStatus) {
	n := rapid.IntRange(0, 30).Draw(t, "failures elsewhere")
	s.FailedObjects, s.FailedBy = nil, map[string]int64{"Invalid": int64(n)}
	for i := range min(n, 20) {
		s.FailedObjects = append(s.FailedObjects, plan.FailedObject{Namespace: "theirs", Reason: "Invalid", Text: fmt.Sprintf("theirs/secret-%d: Invalid: secret", i)})
	}
	for i := range s.Writers {
		s.Writers[i].LastWrote = "theirs/secret"
	}
	s.Writers = append(s.Writers, plan.Writer{Manager: "tool", Version: "v1alpha1", Objects: 1, Last: now.Add(-time.Second), LastWrote: "secret"})
	for i := range s.Losses {
		s.Losses[i].Object, s.Losses[i].Field, s.Losses[i].Why = "theirs/secret", "spec.secret", "secret"
	}
	failure := &plan.Failure{Reason: reasons.Draw(t, "secret failure"), Message: "theirs/secret"}
	if rapid.Bool().Draw(t, "words for all") {
		failure.Public = "held up"
	}
	if rapid.Bool().Draw(t, "in failure") && s.Decision.Reason != v1alpha1.ReasonMigrated {
		s.Evidence.Failure, s.Decision.Sentence = failure, failure.Message
	}
	if s.Evidence.Survey.Failure != nil {
		s.Evidence.Survey.Failure = failure
	}
}
