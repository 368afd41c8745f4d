package preview

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/verdict"
)

// Nothing that may become of a CRD is left without a verdict and a word.
func TestEveryOutcomeIsSaid(t *testing.T) {
	m := meaning{
		stored: &snapshot.CRD{},
		answer: snapshot.Answer{Why: "because", Verdict: verdict.Verdict{Reason: "Because", Message: "it is so"}},
		to:     Delivered{Head: Side{Cluster: delivery.Cluster{Units: []*delivery.Unit{{Unseen: "it is a chart"}}}}},
	}
	m.answer.Warnings = []v1alpha1.Blocker{{Kind: "Old", Message: "it is old"}}
	for o := nothingLeaves; o <= removable; o++ {
		in := m.said(o)
		NewWithT(t).Expect(in).To(And(HaveField("Reason", Not(BeEmpty())), HaveField("Sentence", Not(BeEmpty()))), "%d", o)
		NewWithT(t).Expect(gravity).To(ContainElement(in.Verdict), "%d", o)
	}
}
