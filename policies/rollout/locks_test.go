package rollout

import (
	"testing"

	. "github.com/onsi/gomega"
)

var (
	// asksUnserved has the gate require that the version is not served any more.
	asksUnserved = []string{"versions: [v1alpha1]}", "versions: [v1alpha1], require: [Unserved]}"}
	isUnserved   = []string{"name: v1alpha1, served: true", "name: v1alpha1, served: false"}
	// gateInFlux is in the base, as it is in the head.
	gateInFlux = with([]string{"=== flux-system/gates\n", "=== flux-system/gates" + theGate}, asksUnserved)
	gateInArgo = with(gateBefore, asksUnserved)
	// stopsServing has the head keep the version, and stop serving it.
	stopsServing = with(keepsBoth, isUnserved)
	passesOver   = []string{"CreateNamespace=true", "ApplyOutOfSyncOnly=true"}
	locked       = []string{"GateLocksItself error flux-system/gates/gone/spec.require"}
)

var lockCases = map[string]ruleCase{
	"served until it leaves":               {world: "Flux", head: asksUnserved, want: locked, why: `VersionRemoval widgets/gone waits until v1alpha1 is not served (Unserved), which only flux-system/crds can bring`},
	"unserved before it leaves":            {world: "Flux", base: isUnserved, head: asksUnserved},
	"unserved, with the gate":              {world: "Flux", head: with(asksUnserved, stopsServing), want: locked},
	"unserved, the gate was there":         {world: "Flux", base: gateInFlux, head: with(asksUnserved, stopsServing), want: locked},
	"unserved, the gate is taken out":      {world: "Flux", base: gateInFlux, head: with(noGate, stopsServing)},
	"a gate comes, and the CRD stays":      {world: "Flux", head: with(asksUnserved, keepsBoth), want: locked},
	"the gate was there, and nothing is":   {world: "Flux", base: gateInFlux, head: with(asksUnserved, keepsBoth)},
	"unserved, in no order":                {world: "Flux", head: with(asksUnserved, []string{"dependsOn: [{name: gates}]", "dependsOn: []"}), want: []string{"GateNotEarlier error"}},
	"unserved, nothing is waited for":      {world: "Flux", head: with(asksUnserved, []string{"wait: true # gates", "wait: false"}), want: []string{"GateNotWaitedFor error"}},
	"a gate for a CRD that is new":         {world: "Flux", base: []string{crdBefore, "\n"}, head: asksUnserved},
	"a gate before the flip":               {world: "Flux", base: storesOld, head: keepsBoth, want: []string{"GateLocksItself error flux-system/gates/gone/spec.versions"}, why: "v1alpha1 is not the storage version"},
	"a gate with the label":                {world: "Flux", base: noLabel, head: keepsBoth, want: []string{"GateLocksItself error flux-system/gates/gone/spec.versions"}, why: `the CRD has the label moult.dev/migrate: "true"`},
	"served until it leaves, in waves":     {world: "Argo CD", head: asksUnserved, want: []string{"GateLocksItself error argocd/widgets/gone/spec.require"}, why: "which only argocd/widgets can bring"},
	"served until it leaves, in one wave":  {world: "Argo CD", head: with(asksUnserved, []string{`sync-wave: "-1"`, `sync-wave: "0"`}), want: []string{"GateNotEarlier error"}},
	"unserved, the gate is in a wave":      {world: "Argo CD", base: gateInArgo, head: with(asksUnserved, stopsServing), want: []string{"GateLocksItself error"}},
	"unserved, the gate is passed over":    {world: "Argo CD", base: gateInArgo, head: with(asksUnserved, stopsServing, passesOver)},
	"served until it leaves, in apps":      {world: "app of apps", base: newInApps, head: asksUnserved, want: []string{"GateLocksItself error"}},
	"served until it leaves, on its own":   {world: "app of apps", head: asksUnserved, want: []string{"GateNotHeldByParent error"}},
	"served until it leaves, and rendered": {world: "Helm", head: with(asksUnserved, []string{"none: ", "argocd.argoproj.io/sync-wave: "}), want: []string{"GateHealthUnseen info", "GateLocksItself error"}},
}

// What is in Git by itself, without a commit, locks itself as the commit did.
func TestLocksInGit(t *testing.T) {
	twice := func(text string) string { return text + text }
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"Flux, served":               {edited(t, worlds["Flux"][0], gateInFlux), 1},
		"Flux, not served":           {edited(t, worlds["Flux"][0], with(gateInFlux, isUnserved)), 0},
		"Flux, of two clusters":      {twice(edited(t, worlds["Flux"][0], gateInFlux)), 0},
		"Argo CD, served":            {edited(t, worlds["Argo CD"][0], gateInArgo), 1},
		"Argo CD, served, no demand": {edited(t, worlds["Argo CD"][0], gateBefore), 0},
		"Flux, removed":              {edited(t, worlds["Flux"][1], asksUnserved), 0},
		"in two Applications":        {edited(t, worlds["Argo CD"][0], gateInArgo) + "=== argocd/other" + crdBefore, 1},
		"the folder of a commit before": {
			"=== argocd/before" + crdBefore + edited(t, worlds["Argo CD"][1], asksUnserved), 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := Locks(clusterOf(t, c.text), key)
			g.Expect(found).To(HaveLen(c.want))
			for _, f := range found {
				g.Expect(f.Rule).To(Equal(GateLocksItself))
			}
		})
	}
}
