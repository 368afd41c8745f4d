package rollout

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/delivery"
)

func TestWhatDecidesAboutUnitsUnseenLeavesItUnknown(t *testing.T) {
	const ignored, crds = "spec.ignore of GitRepository widgets", "flux-system/crds"
	for name, c := range map[string]struct {
		edits, headEdits []string
		base, head       map[string]string
		units            []string
		why              string
	}{
		"the same":      {base: map[string]string{ignored: "a"}, head: map[string]string{ignored: "a"}, units: []string{crds}},
		"it comes":      {head: map[string]string{ignored: "a"}, units: []string{crds}, why: ignored + " changes; it decides which manifests of flux-system/crds are applied"},
		"it goes":       {base: map[string]string{ignored: "a"}, units: []string{crds}, why: ignored + " changes; it decides"},
		"it changes":    {base: map[string]string{ignored: "a"}, head: map[string]string{ignored: "b"}, units: []string{crds}, why: ignored + " changes; it decides"},
		"for all units": {head: map[string]string{ignored: "a"}, units: []string{"entry", "flux-system/gates", crds}, why: "of entry, flux-system/gates, flux-system/crds are applied"},
		"both unseen":   {edits: elsewhere, headEdits: elsewhere, base: map[string]string{ignored: "a"}, head: map[string]string{ignored: "b"}, units: []string{crds}},
		"a new entry":   {edits: []string{"=== entry", "=== git:main"}, headEdits: []string{"=== entry", "=== ."}, head: map[string]string{ignored: "a"}, units: []string{"git:main", "."}, why: "of . are applied"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := worldOf(t, "Flux", c.edits, c.headEdits)
			for _, unit := range c.units {
				for cluster, inputs := range map[*delivery.Cluster]map[string]string{&w.base: c.base, &w.head: c.head} {
					if u := cluster.Unit(unit); u != nil {
						u.Inputs = inputs
					}
				}
			}
			var whys []string
			for _, f := range w.rollout().Findings {
				if f.Rule == UnseenChanged {
					whys = append(whys, f.Why)
				}
			}
			if c.why == "" {
				g.Expect(whys).To(BeEmpty())
				return
			}
			g.Expect(whys).To(ConsistOf(ContainSubstring(c.why)), "one finding, whatever number of units")
		})
	}
}
