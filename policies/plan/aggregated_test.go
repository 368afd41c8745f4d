package plan

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
)

func TestAfterAWalkThatAnotherServerAnsweredTheSettleTimeIsWaitedOut(t *testing.T) {
	failure := &Failure{Reason: v1alpha1.ReasonAggregatedAPIServer, Message: "somebody else answered"}
	window := now.Add(-time.Second)
	for name, mode := range map[string]Mode{"a walk that rewrites": Rewriting, "a check": Checking} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := Evidence{Subject: v1, Rewritten: true, WindowEnd: window, WindowEndRV: "7"}
			e = e.After(Outcome{Mode: mode, ListedRV: "1", Failure: failure}, now, settle)
			g.Expect(e.Proved).To(BeFalse())
			g.Expect(e.WindowEnd).To(Equal(now.Add(settle)))
			g.Expect(e.WindowEndRV).To(BeEmpty(), "a resourceVersion of the other server orders nothing")
			g.Expect(e.RetryAt).To(Equal(now.Add(settle)), "the reason is told for as long")
		})
	}
	t.Run("a survey leaves the proof, and is done again as late", func(t *testing.T) {
		g := NewWithT(t)
		e := Evidence{Subject: v1, Proved: true, WindowEnd: window}
		e = e.After(Outcome{Mode: Surveying, Leaving: []string{"v1alpha1"}, Failure: failure}, now, settle)
		g.Expect(e.Proved).To(BeTrue())
		g.Expect(e.Survey.Covers(Removal{Versions: []string{"v1alpha1"}})).To(BeFalse())
		g.Expect(e.Survey.NextAt).To(Equal(now.Add(settle)))
	})
	t.Run("a pause that is longer stays", func(t *testing.T) {
		g := NewWithT(t)
		e := Evidence{Subject: v1, Failures: 20}.After(Outcome{Mode: Checking, Failure: failure}, now, settle)
		g.Expect(e.RetryAt).To(Equal(now.Add(maxBackoff)))
	})
	t.Run("another failure opens no window", func(t *testing.T) {
		g := NewWithT(t)
		e := Evidence{Subject: v1, WindowEnd: window}.After(Outcome{Mode: Checking, Failure: &Failure{Reason: v1alpha1.ReasonForbidden}}, now, settle)
		g.Expect(e.WindowEnd).To(Equal(window))
	})
}
