package desired

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/delivery"
)

// One chart of a unit changes, and the others are not rendered for other clusters: each costs some ten renderings.
func TestOnlyChartsThatChangeAreRenderedForOtherClusters(t *testing.T) {
	g := NewWithT(t)
	asked := map[string]int{}
	side := func(charts ...string) *delivery.Cluster {
		unit := &delivery.Unit{Name: "apps"}
		for _, chart := range charts {
			unit.Depending = append(unit.Depending, delivery.Depending{Key: chart, What: func() ([]string, string, error) {
				asked[chart]++
				return []string{"CustomResourceDefinition x"}, chart, nil
			}})
		}
		return &delivery.Cluster{Units: []*delivery.Unit{unit}}
	}
	base, head := side("cilium", "argo-cd 1", "longhorn"), side("cilium", "argo-cd 2", "longhorn")
	settleCharts(base, head)
	g.Expect(asked).To(Equal(map[string]int{"argo-cd 1": 1, "argo-cd 2": 1}))
	g.Expect(head.Unseen).To(HaveLen(1), "it makes something else")

	base, head = side("cilium", "longhorn"), side("longhorn", "cilium")
	settleCharts(base, head)
	g.Expect(asked).To(HaveLen(2), "all are the same")
	g.Expect(head.Unseen).To(BeEmpty())

	base, head = side("cilium", "longhorn"), side("longhorn")
	settleCharts(base, head)
	g.Expect(asked).To(HaveKeyWithValue("cilium", 1))
	g.Expect(head.Unseen).To(HaveLen(1), "one goes")
}
