package migration

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/policies/plan"
)

// Tenants may name any number of versions.
func TestVersionsThatACRDHasNotCostWhatOneDoes(t *testing.T) {
	g := NewWithT(t)
	s := NewStateStore()
	o := plan.Observation{StoredVersions: []string{"v1alpha1", "v1"}}
	o.StorageVersion = "v1"
	for tenant := range 100 {
		asked := plan.Removal{Versions: []string{"v1", "v1alpha1", "v1beta1"}}
		for i := range 32 {
			asked.Versions = append(asked.Versions, fmt.Sprintf("v%dalpha%d", tenant, i))
		}
		s.Ask("widgets.example.com", types.NamespacedName{Namespace: "tenant", Name: fmt.Sprint(tenant)}, asked)
	}
	g.Expect(s.removal("widgets.example.com", o, []string{"v1beta1", "v1"}).Versions).To(Equal([]string{plan.Left, "v1alpha1", "v1beta1"}), "one is only stored, one only listed")
	o.StoredVersions = []string{"v1"}
	g.Expect(s.removal("widgets.example.com", o, []string{"v1"}).Versions).To(Equal([]string{plan.Left}), "so that entries at those that have left are looked for")
	g.Expect(s.removal("gadgets.example.com", o, []string{"v1beta1"}).Versions).To(BeEmpty())
	s.Ask("gears.example.com", types.NamespacedName{Name: "all"}, plan.Removal{Versions: []string{"v1beta1", "v1"}})
	g.Expect(s.removal("gears.example.com", o, []string{"v1beta1", "v1"}).Versions).To(Equal([]string{"v1beta1"}))
}
