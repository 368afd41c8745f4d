package migration

import (
	"fmt"
	"testing"
	"time"

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

// What shows a write stays as long as all wait for whom it counts.
func TestEntriesStayAsLongAsTheLeastPatientWaits(t *testing.T) {
	g := NewWithT(t)
	s := NewStateStore()
	o := plan.Observation{}
	o.StorageVersion = "v1"
	quiet := func() map[string]time.Duration {
		return s.removal("widgets.example.com", o, []string{"v1alpha1", "v1beta1", "v1"}).Quiet
	}
	ask := func(name string, quiet time.Duration, version string) {
		s.Ask("widgets.example.com", types.NamespacedName{Name: name}, plan.Removal{Versions: []string{version}, Quiet: map[string]time.Duration{version: quiet}})
	}
	ask("patient", 2*time.Hour, "v1alpha1")
	ask("of another version", 0, "v1beta1")
	g.Expect(quiet()).To(HaveKeyWithValue("v1alpha1", 2*time.Hour))
	ask("less patient", time.Hour, "v1alpha1")
	g.Expect(quiet()).To(HaveKeyWithValue("v1alpha1", time.Hour))
	ask("less patient", 0, "v1alpha1")
	g.Expect(quiet()["v1alpha1"]).To(BeZero())
	s.Withdraw("widgets.example.com", types.NamespacedName{Name: "less patient"})
	g.Expect(quiet()).To(HaveKeyWithValue("v1alpha1", 2*time.Hour))
}
