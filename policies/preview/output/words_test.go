package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
)

// A count of what the report shows gives what its first line says.
func TestTheScopeCountsAllThatIsShown(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*preview.Report)
		want   string
	}{
		"no CRD": {func(r *preview.Report) { *r = nothing() }, "no CRD changes"},
		"only a finding": {func(r *preview.Report) {
			*r = nothing()
			r.Findings = []finding.Finding{{Severity: finding.Warning, Why: "it moves"}}
		}, "no CRD changes; all else: 1 warning"},
		"all is safe": {func(*preview.Report) {}, "1 changed CRD, seen from 2 clusters; changes: 3 warnings, 1 for information"},
		"a cluster's warnings": {func(r *preview.Report) {
			in := &r.CRDs[0].Clusters[0]
			in.Verdict, in.Sentence = preview.Warned, "one; but for that, it is safe"
			in.Warnings = []v1alpha1.Blocker{{Message: "one"}, {Message: "two"}}
		}, "1 changed CRD, seen from 2 clusters; changes: 3 warnings, 1 for information; all else: 2 warnings"},
		"a warning of a cluster that is safe but for it": {func(r *preview.Report) {
			r.CRDs[0].Clusters[0].Warnings = []v1alpha1.Blocker{{Message: "one"}}
		}, "1 changed CRD, seen from 2 clusters; changes: 3 warnings, 1 for information; all else: 1 warning"},
		"blockers": {func(r *preview.Report) {
			in := &r.CRDs[0].Clusters[0]
			in.Verdict, in.Sentence = preview.Blocked, "one"
			in.Blockers, in.Warnings = []v1alpha1.Blocker{{Message: "one"}, {Message: "two"}}, []v1alpha1.Blocker{{Message: "three"}}
		}, "1 changed CRD, seen from 2 clusters; changes: 3 warnings, 1 for information; all else: 2 errors, 1 warning"},
		"a blocker that a gate clears by itself": {func(r *preview.Report) {
			in := &r.CRDs[0].Clusters[0]
			in.Verdict, in.Sentence = preview.Warned, "one"
			in.Blockers = []v1alpha1.Blocker{{Message: "one"}}
		}, "1 changed CRD, seen from 2 clusters; changes: 3 warnings, 1 for information; all else: 1 warning"},
		"a finding that decides is counted once": {func(r *preview.Report) {
			in := &r.CRDs[0].Clusters[0]
			in.Verdict, in.Sentence = preview.Blocked, "it is broken"
			r.Findings = []finding.Finding{{Severity: finding.Error, Why: "it is broken"}}
		}, "1 changed CRD, seen from 2 clusters; changes: 3 warnings, 1 for information; all else: 1 error"},
		"a change that decides is counted with the changes": {func(r *preview.Report) {
			in := &r.CRDs[0].Clusters[0]
			in.Verdict, in.Reason, in.Sentence = preview.Warned, "DefaultChanged", "v1 spec.replicas: it differs"
		}, "1 changed CRD, seen from 2 clusters; changes: 3 warnings, 1 for information"},
	} {
		t.Run(name, func(t *testing.T) {
			r := safe()
			c.change(&r)
			NewWithT(t).Expect(scope(r)).To(Equal(c.want))
		})
	}
}

// What merely warns does not stand in the way.
func TestTheReasonsAreHeadedByWhatTheyAre(t *testing.T) {
	for verdict, want := range map[preview.Verdict]struct{ text, markdown string }{
		preview.Warned:  {"WHAT TO READ BEFORE MERGING", "| Why |"},
		preview.Unknown: {"WHAT STANDS IN THE WAY", "| What stands in the way |"},
		preview.Blocked: {"WHAT STANDS IN THE WAY", "| What stands in the way |"},
	} {
		t.Run(string(verdict), func(t *testing.T) {
			g := NewWithT(t)
			r := safe()
			r.Verdict, r.CRDs[0].Clusters[0].Verdict = verdict, verdict
			var text bytes.Buffer
			g.Expect(Text(&text, r, false, 100)).To(Succeed())
			g.Expect(text.String()).To(ContainSubstring("\n" + want.text + "\n"))
			g.Expect(Markdown(r, comments)).To(ContainSubstring(want.markdown))
		})
	}
}

func TestTheTitleOfAnAnnotationIsASentence(t *testing.T) {
	for verdict, want := range map[preview.Verdict]string{
		preview.Warned:  "title=widgets.example.com has warnings in clusters/production::",
		preview.Blocked: "title=widgets.example.com is blocked in clusters/production::",
		preview.Unknown: "title=widgets.example.com is not known to be safe in clusters/production::",
	} {
		r := safe()
		r.CRDs[0].Clusters[0].Verdict = verdict
		NewWithT(t).Expect(Annotations(r)).To(ContainSubstring(want))
	}
}

// A repository of a hundred entry points has as many things that are not seen, and nothing has to be done about them.
func TestTheTextShowsFewThingsForInformation(t *testing.T) {
	g := NewWithT(t)
	var r preview.Report
	for i := range 12 {
		r.Findings = append(r.Findings, finding.Finding{Rule: "NotFollowed", Severity: finding.Info, Why: fmt.Sprintf("thing %d is not seen", i)})
	}
	r.Findings = append(r.Findings, finding.Finding{Rule: "UnseenChanged", Severity: finding.Warning, Why: "the last one counts"})
	var text strings.Builder
	g.Expect(Text(&text, r, false, 0)).To(Succeed())
	g.Expect(strings.Count(text.String(), "is not seen")).To(Equal(mostForInformation))
	g.Expect(text.String()).To(And(ContainSubstring("and 4 more for information; -o json has them all"), ContainSubstring("the last one counts")))
}
