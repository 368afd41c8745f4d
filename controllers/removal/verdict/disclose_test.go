package verdict

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/plan"
)

func TestWhatANamespaceIsTold(t *testing.T) {
	own := plan.Failure{Namespace: "mine", Reason: "Invalid", Text: "mine/a: Invalid: no"}
	others := plan.Failure{Namespace: "theirs", Reason: "Invalid", Text: "theirs/secret: Invalid: secret"}
	clusters := plan.Failure{Reason: "Rejected", Text: "secret: Rejected: secret"}
	counted := func(reason, text string) plan.Failure { return plan.Failure{Reason: reason, Text: text} }
	for name, c := range map[string]struct {
		failures []plan.Failure
		failed   map[string]int64
		want     []plan.Failure
	}{
		"its own object, in full":                 {[]plan.Failure{own}, map[string]int64{"Invalid": 1}, []plan.Failure{own}},
		"another's as a count":                    {[]plan.Failure{others}, map[string]int64{"Invalid": 1}, []plan.Failure{counted("Invalid", "1 object of other namespaces, or too many to name: Invalid")}},
		"an object without a namespace likewise":  {[]plan.Failure{clusters}, map[string]int64{"Rejected": 1}, []plan.Failure{counted("Rejected", "1 object of other namespaces, or too many to name: Rejected")}},
		"both, and all that were too many":        {[]plan.Failure{own, others}, map[string]int64{"Invalid": 500}, []plan.Failure{own, counted("Invalid", "499 objects of other namespaces, or too many to name: Invalid")}},
		"each reason":                             {[]plan.Failure{others, clusters}, map[string]int64{"Invalid": 2, "Rejected": 3}, []plan.Failure{counted("Invalid", "2 objects of other namespaces, or too many to name: Invalid"), counted("Rejected", "3 objects of other namespaces, or too many to name: Rejected")}},
		"nothing":                                 {},
		"nothing of which nobody has kept counts": {failures: []plan.Failure{others}},
	} {
		t.Run(name, func(t *testing.T) {
			told := Disclose(plan.Standing{Failures: c.failures, Failed: c.failed}, "mine")
			NewWithT(t).Expect(told.Failures).To(Equal(c.want))
		})
	}
}

func TestATroubleIsToldWithoutNames(t *testing.T) {
	for name, c := range map[string]struct {
		trouble plan.Trouble
		want    string
	}{
		"counts":                     {plan.Trouble{Reason: "ObjectsFailed", Message: "1 of 7 objects failed: theirs/secret: no", Public: "1 of 7 objects failed"}, "1 of 7 objects failed; the CRD's condition and Events tell more"},
		"one that has no such words": {plan.Trouble{Reason: "Odd", Message: "theirs/secret is odd"}, "held up by Odd; the CRD's condition and Events tell more"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := plan.Standing{Decision: plan.Decision{Reason: c.trouble.Reason, Sentence: c.trouble.Message}}
			s.Evidence.Trouble, s.Evidence.Survey.Trouble = &c.trouble, &c.trouble
			before := c.trouble
			told := Disclose(s, "mine")
			g.Expect(told.Decision.Sentence).To(Equal(c.want))
			g.Expect(told.Evidence.Trouble.Message).To(Equal(c.want))
			g.Expect(told.Evidence.Survey.Trouble.Message).To(Equal(c.want))
			g.Expect(c.trouble).To(Equal(before), "what others read is not changed")
		})
	}
}

// Whatever is judged, an answer tells nothing of what lies in another namespace.
func TestAnAnswerKeepsTheSecretsOfOtherNamespaces(t *testing.T) {
	check(t, func(t *rapid.T, s Situation) {
		if s.Standing == nil {
			return
		}
		surround(t, s.Standing)
		told := Disclose(*s.Standing, "mine")
		s.Standing = &told
		answer, err := json.Marshal(Judge(s))
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(answer)).NotTo(ContainSubstring("secret"))
	})
}

// surround puts a secret wherever a walk may have found one.
func surround(t *rapid.T, s *plan.Standing) {
	n := rapid.IntRange(0, 30).Draw(t, "failures elsewhere")
	s.Failures, s.Failed = nil, map[string]int64{"Invalid": int64(n)}
	for i := range min(n, 20) {
		s.Failures = append(s.Failures, plan.Failure{Namespace: "theirs", Reason: "Invalid", Text: fmt.Sprintf("theirs/secret-%d: Invalid: secret", i)})
	}
	for i := range s.Writers {
		s.Writers[i].LastWrote = "theirs/secret"
	}
	s.Writers = append(s.Writers, plan.Writer{Manager: "tool", Version: "v1alpha1", Objects: 1, Last: now.Add(-time.Second), LastWrote: "secret"})
	for i := range s.Losses {
		s.Losses[i].Object, s.Losses[i].Field, s.Losses[i].Why = "theirs/secret", "spec.secret", "secret"
	}
	trouble := &plan.Trouble{Reason: reasons.Draw(t, "secret trouble"), Message: "theirs/secret"}
	if rapid.Bool().Draw(t, "words for all") {
		trouble.Public = "held up"
	}
	if rapid.Bool().Draw(t, "in trouble") && s.Decision.Reason != v1alpha1.ReasonMigrated {
		s.Evidence.Trouble, s.Decision.Sentence = trouble, trouble.Message
	}
	if s.Evidence.Survey.Trouble != nil {
		s.Evidence.Survey.Trouble = trouble
	}
}
