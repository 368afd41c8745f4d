package verdict

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
)

func TestALabelThatIsNotInGitIsWarnedOf(t *testing.T) {
	liveOnly := func(s *Situation) {
		s.CRD.LabelOrigin = labelorigin.Verdict{Origin: labelorigin.LiveOnly, Owner: `field manager "kubectl-label" (Update)`, Why: "Flux takes it off", Lost: true}
	}
	for name, c := range map[string]struct {
		s    Situation
		rule string
		want bool
	}{
		"while the migration runs":         {with(liveOnly, at(v1alpha1.ReasonMigrating, "rewriting")), "NotProved", true},
		"when the gate is open":            {with(liveOnly), "SafeToRemove", true},
		"when only a commit can help":      {with(liveOnly, func(s *Situation) { s.CRD.InScope = false }), "OutOfScope", true},
		"not if it is in Git":              {with(func(s *Situation) { s.CRD.LabelOrigin.Origin = labelorigin.Git }), "SafeToRemove", false},
		"not if nobody knows":              {with(func(s *Situation) { s.CRD.LabelOrigin.Origin = labelorigin.Unknown }), "SafeToRemove", false},
		"not if there is no label to lose": {with(func(s *Situation) { s.CRD.OptedIn = false }), "NotOptedIn", false},
		"not if there is no CRD":           {with(func(s *Situation) { s.CRD = nil }), "NothingStored", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v := Judge(c.s)
			g.Expect(v.Rule).To(Equal(c.rule))
			warning := ContainElement(HaveField("Kind", v1alpha1.EventOptInNotInGit))
			if !c.want {
				g.Expect(v.Warnings).NotTo(warning)
				return
			}
			g.Expect(v.Warnings).To(warning)
			g.Expect(v.Warnings[0].Message).To(Equal(`the opt-in label moult.dev/migrate of widgets.example.com is only on the live object: field manager "kubectl-label" (Update) set it, and Flux takes it off`))
		})
	}
}

func TestTheWarningOfTheLabelDoesNotMakeAStatusLonger(t *testing.T) {
	g := NewWithT(t)
	s := with(served, require(time.Hour), func(s *Situation) { s.CRD.LabelOrigin.Origin = labelorigin.LiveOnly })
	for range 50 {
		written("v1alpha1", time.Minute)(&s)
	}
	g.Expect(Judge(s).Warnings).To(HaveLen(20))
	g.Expect(Judge(s).Warnings[0].Kind).To(Equal(v1alpha1.EventOptInNotInGit))
}
