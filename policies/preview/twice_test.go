package preview

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Two units that apply one CRD, as before, are no reason to look at this change. If they come to do so, they are.
func TestWhatIsAppliedTwiceAsBeforeIsForInformation(t *testing.T) {
	g := NewWithT(t)
	twice := delivery.Cluster{Findings: []finding.Finding{{Rule: delivery.AppliedTwice, Severity: finding.Warning, CRD: "x", Why: "both a and b apply it"}}}
	g.Expect(Compare("c", Side{Cluster: twice}, Side{Cluster: twice}).Findings[0].Severity).To(Equal(finding.Info))
	g.Expect(Compare("c", Side{}, Side{Cluster: twice}).Findings[0].Severity).To(Equal(finding.Warning))
}
