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

// A chart that was rendered on both sides, or a repository that was built, has been seen at its revision. A source of which
// only the fields are known may bring anything from a new place.
func TestASourceThatWasSeenHasNotMoved(t *testing.T) {
	const there = "https://git.example.com/there"
	chart, elsewhere := &delivery.Unit{Charts: []string{"chart 1.0.0"}}, &delivery.Unit{Elsewhere: []string{there}}
	revision := []string{"source: {path: widgets}", "source: {repoURL: " + there + ", path: widgets, targetRevision: one}"}
	later := []string{"source: {path: widgets}", "source: {repoURL: " + there + ", path: widgets, targetRevision: two}"}
	oneChart := []string{"source: {path: widgets}", "source: {repoURL: " + there + ", chart: widgets, targetRevision: one}"}
	laterChart := []string{"source: {path: widgets}", "source: {repoURL: " + there + ", chart: widgets, targetRevision: two}"}
	moved := []string{"SourceMoved warning entry/widgets/spec.source.targetRevision"}
	for name, c := range map[string]struct {
		world, unit string
		base, head  []string
		was, now    *delivery.Unit
		want        []string
	}{
		"a chart, rendered on both sides":       {world: "Argo CD", unit: "argocd/widgets", base: oneChart, head: laterChart, was: chart, now: chart},
		"a chart, rendered before only":         {world: "Argo CD", unit: "argocd/widgets", base: oneChart, head: laterChart, was: chart, now: &delivery.Unit{}, want: moved},
		"a chart, rendered after only":          {world: "Argo CD", unit: "argocd/widgets", base: oneChart, head: laterChart, was: &delivery.Unit{}, now: chart, want: moved},
		"a chart, and it goes to another place": {world: "Argo CD", unit: "argocd/widgets", base: oneChart, head: with(laterChart, []string{"destination: {namespace: widgets}", "destination: {namespace: other}"}), was: chart, now: chart, want: []string{"SourceMoved warning entry/widgets/spec.destination"}},
		"a chart beside this repository":        {world: "Argo CD", unit: "argocd/widgets", base: revision, head: later, was: chart, now: chart, want: moved},
		"a repository, built on both sides":     {world: "Argo CD", unit: "argocd/widgets", base: revision, head: later, was: elsewhere, now: elsewhere},
		"a repository, built before only":       {world: "Argo CD", unit: "argocd/widgets", base: revision, head: later, was: elsewhere, now: &delivery.Unit{}, want: moved},
		"a repository that is not seen any more": {world: "Argo CD", unit: "argocd/widgets", base: revision, head: with(later, []string{"=== argocd/widgets", "=== argocd/widgets (unseen)"}), was: elsewhere, now: &delivery.Unit{Unseen: "it does not answer"},
			want: []string{"UnseenChanged warning entry/widgets/spec"}},
		"not seen at all, and not from elsewhere": {world: "Argo CD", unit: "argocd/widgets", base: revision, head: with(later, []string{"=== argocd/widgets", "=== argocd/widgets (unseen)"}), was: &delivery.Unit{}, now: &delivery.Unit{Unseen: "it does not answer"},
			want: append([]string{"UnseenChanged warning entry/widgets/spec"}, moved...)},
		"Flux, built from another repository": {world: "Flux", unit: "flux-system/crds", head: elsewhereOfOCI, was: elsewhere, now: elsewhere},
		"Flux, and in another cluster":        {world: "Flux", unit: "flux-system/crds", head: []string{"prune: false # crds", "kubeConfig: {secretRef: {name: x}}"}, was: elsewhere, now: elsewhere, want: []string{"SourceMoved warning entry/crds/spec.kubeConfig"}},
		"Flux, its source is at another tag":  {world: "Flux", unit: "flux-system/crds", base: withSource, head: with(withSource, []string{"branch: main", "branch: next"}), was: elsewhere, now: elsewhere, want: []string{"SourceMoved warning entry/widgets/spec.ref"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, c.world, c.base, with(noRemoval, c.head))
			for cluster, is := range map[*delivery.Cluster]*delivery.Unit{&w.base: c.was, &w.head: c.now} {
				u := cluster.Unit(c.unit)
				u.Charts, u.Elsewhere, u.Unseen = is.Charts, is.Elsewhere, is.Unseen
			}
			NewWithT(t).Expect(found(w.rollout())).To(matchBeginnings(c.want))
		})
	}
}
