package rollout

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// toolCases are about how the tools are set up.
var toolCases = map[string]ruleCase{
	"Argo CD compares by a dry run":           {world: "Argo CD", head: dryRun, want: []string{"ServerSideDiffStops warning entry/widgets/metadata.annotations.argocd.argoproj.io/compare-options"}},
	"a dry run, and the label comes":          {world: "Argo CD", base: noLabel, head: with(dryRun, noGate), want: []string{"RemovalWithoutGate warning", "ServerSideDiffStops error"}},
	"a dry run, and nothing leaves":           {world: "Argo CD", head: with(dryRun, flipOnly, []string{"None", "Webhook"})},
	"no dry run for this CRD":                 {world: "Argo CD", head: with(dryRun, []string{"crd: here", "argocd.argoproj.io/compare-options: ServerSideDiff=false"})},
	"a dry run for all Applications":          {world: "Argo CD", head: []string{`seconds: "3600"`, "seconds: \"3600\"\n  controller.diff.server.side: \"true\""}, want: []string{"ServerSideDiffStops warning entry/argocd-cmd-params-cm/data.controller.diff.server.side"}},
	"a sync without an end":                   {world: "Argo CD", head: []string{"controller.sync.timeout.seconds", "x"}, want: []string{"SyncWaitsForever warning entry/argocd-cmd-params-cm/data"}},
	"a sync with the end 0":                   {world: "Argo CD", head: []string{`"3600"`, `"0"`}, want: []string{"SyncWaitsForever warning"}},
	"a sync of which nothing is known":        {world: "Argo CD", head: []string{"argocd-cmd-params-cm", "other"}, want: []string{"SyncWaitsForever info entry/widgets/spec.syncPolicy"}},
	"a sync without a gate needs no end":      {world: "Argo CD", head: with(flipOnly, []string{"argocd-cmd-params-cm", "other", "None", "Webhook"})},
	"retries take the old commit":             {world: "Argo CD", head: []string{", refresh: true", ""}, want: []string{"RetriesOldCommit info entry/widgets/spec.syncPolicy.retry"}},
	"there are no retries by hand":            {world: "Argo CD", head: []string{", refresh: true", "", "automated: {prune: true}", "x: {}"}},
	"the project permits both":                {world: "Argo CD", head: with(inProject, []string{"SPEC", "clusterResourceWhitelist: [{group: '*', kind: '*'}]"})},
	"the project permits no CRD":              {world: "Argo CD", head: with(inProject, []string{"SPEC", "clusterResourceWhitelist: [{group: '', kind: Namespace}]"}), want: []string{"ProjectForbids error entry/team/spec.clusterResourceWhitelist"}, why: "does not permit a CustomResourceDefinition"},
	"the project says nothing of CRDs":        {world: "Argo CD", head: with(inProject, []string{"SPEC", "description: ours"}), want: []string{"ProjectForbids error entry/team/spec"}},
	"the project denies CRDs":                 {world: "Argo CD", head: with(inProject, []string{"SPEC", "clusterResourceWhitelist: [{group: '*', kind: '*'}], clusterResourceBlacklist: [{group: 'apiext*', kind: '*'}]"}), want: []string{"ProjectForbids error entry/team/spec.clusterResourceBlacklist"}},
	"the project does not know gates":         {world: "Argo CD", head: with(inProject, []string{"SPEC", "clusterResourceWhitelist: [{group: '*', kind: '*'}], namespaceResourceWhitelist: [{group: '', kind: ConfigMap}]"}), want: []string{"ProjectForbids error entry/team/spec.namespaceResourceWhitelist"}, why: "does not permit a VersionRemoval"},
	"the project knows gates":                 {world: "Argo CD", head: with(inProject, []string{"SPEC", "clusterResourceWhitelist: [{group: '*', kind: '*'}], namespaceResourceWhitelist: [{group: moult.dev, kind: VersionRemoval}]"})},
	"the project denies gates":                {world: "Argo CD", head: with(inProject, []string{"SPEC", "clusterResourceWhitelist: [{group: '*', kind: '*'}], namespaceResourceBlacklist: [{group: moult.dev, kind: '*'}]"}), want: []string{"ProjectForbids error entry/team/spec.namespaceResourceBlacklist"}},
	"another project denies them":             {world: "Argo CD", head: with(inProject, []string{"project: team", "project: other", "SPEC", "namespaceResourceBlacklist: [{group: moult.dev, kind: '*'}]"})},
	"Flux waits too short":                    {world: "Flux", head: []string{"timeout: 10m", "timeout: 1m"}, want: []string{"TimeoutTooShort warning entry/gates/spec.timeout"}},
	"Flux waits an interval, too short":       {world: "Flux", head: []string{"timeout: 10m\n  interval: 10m", "interval: 1m"}, want: []string{"TimeoutTooShort warning entry/gates/spec.interval"}},
	"Flux waits an interval":                  {world: "Flux", head: []string{"timeout: 10m\n  interval: 10m", "interval: 10m"}},
	"Flux waits no time, then an interval":    {world: "Flux", head: []string{"timeout: 10m", "timeout: 0s"}, want: []string{"TimeoutTooShort warning entry/gates/spec.timeout"}},
	"Flux waits just long enough":             {world: "Flux", head: []string{"timeout: 10m", "timeout: 2m"}},
	"Flux waits, nobody can read how long":    {world: "Flux", head: []string{"timeout: 10m\n  interval: 10m", "timeout: soon"}},
	"Flux waits too short for two gates":      {world: "Flux", base: []string{"  versions:\n", "  versions:\n  - {name: v1beta1, served: false, storage: false}\n"}, head: []string{theGate, theGate + "---" + strings.NewReplacer("gone", "two", "v1alpha1]", "v1beta1]").Replace(theGate), "timeout: 10m", "timeout: 1m"}, want: []string{"TimeoutTooShort warning entry/gates/spec.timeout"}},
	"only the CRD's unit waits short":         {world: "Flux", head: []string{"prune: false # crds", "timeout: 1m"}},
	"the CRD's unit is suspended":             {world: "Flux", head: []string{"prune: false # crds", "suspend: true"}, want: []string{"Suspended warning entry/crds/spec.suspend"}},
	"the gate's unit is suspended":            {world: "Flux", head: []string{"timeout: 10m", "suspend: true"}, want: []string{"Suspended warning entry/gates/spec.suspend"}},
	"Argo CD passes the Application over":     {world: "Argo CD", head: []string{"of: widgets", `argocd.argoproj.io/skip-reconcile: "true"`}, want: []string{"Suspended warning entry/widgets/metadata.annotations.argocd.argoproj.io/skip-reconcile"}},
	"the two wait for one another":            {world: "Flux", head: []string{"timeout: 10m", "dependsOn: [{name: crds}]"}, want: []string{"DependencyCycle error entry/"}},
	"one waits for itself":                    {world: "Flux", head: []string{"timeout: 10m", "dependsOn: [{name: gates}]"}, want: []string{"DependencyCycle error entry/gates/spec.dependsOn"}},
	"one waits for what is not there":         {world: "Flux", head: []string{"timeout: 10m", "dependsOn: [{name: moult}]"}, want: []string{"DependencyMissing warning entry/gates/spec.dependsOn"}, why: "flux-system/gates waits for flux-system/moult"},
	"what has nothing to do with it may wait": {world: "Flux", base: idle, head: idle},
	"Flux deletes what is refused":            {world: "Flux", head: []string{"prune: false # crds", "force: true"}, want: []string{"Recreated error entry/crds/spec.force"}},
	"Flux deletes what is not concerned":      {world: "Flux", head: []string{"timeout: 10m", "force: true"}},
	"Flux deletes another CRD from now on":    {world: "Flux", base: gadgets, head: with(gadgets, []string{"timeout: 10m", "force: true"}), want: []string{"Recreated warning entry/gates/spec.force"}},
	"Flux deleted another CRD before":         {world: "Flux", base: with(gadgets, []string{"timeout: 10m", "force: true"}), head: with(gadgets, []string{"timeout: 10m", "timeout: 11m\n  force: true"})},
	"the entry waits for what it applies":     {world: "Flux", base: ofItself, head: ofItself, want: []string{"DependencyCycle error flux-system/all/all/spec.dependsOn"}, why: "flux-system/all, flux-system/gates"},
	"another CRD has no label":                {world: "Flux", base: unlabelled, head: unlabelled},
	"Argo CD replaces":                        {world: "Argo CD", head: []string{"CreateNamespace=true", "Replace=true"}, want: []string{"Replaced error entry/widgets/spec.syncPolicy.syncOptions.0"}},
	"Argo CD ignores versions":                {world: "Argo CD", head: []string{"  destination:", "  ignoreDifferences: [{group: apiextensions.k8s.io, kind: CustomResourceDefinition, jsonPointers: [/spec/versions]}]\n  destination:"}, want: []string{"DifferencesIgnored error"}},
	"Flux may delete what is not seen":        {world: "Flux", head: []string{"timeout: 10m", "force: true", "=== flux-system/gates\n", "=== flux-system/gates (unseen)\n"}, want: []string{"Recreated warning entry/gates/spec.force", "UnseenChanged warning entry/gates/spec"}},
	"and did so before":                       {world: "Flux", base: []string{"timeout: 10m", "force: true"}, head: []string{"timeout: 10m", "force: true", "=== flux-system/gates\n", "=== flux-system/gates (unseen)\n"}, want: []string{"UnseenChanged warning entry/gates/spec"}},
}

var (
	unlabelled = []string{"=== flux-system/crds", "=== flux-system/crds" + strings.NewReplacer("widgets", "gadgets", `labels: {moult.dev/migrate: "true"}`, "labels: {}").Replace(crdBefore) + "---"}
	// gadgets are another CRD, which is opted in and does not change, in the unit of the gate.
	gadgets = []string{"=== flux-system/gates", "=== flux-system/gates" + strings.ReplaceAll(crdBefore, "widgets", "gadgets") + "---"}
	// ofItself has the entry point among what it applies, as `flux bootstrap` does.
	ofItself = []string{"=== entry", `=== flux-system/all
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: all, namespace: flux-system}
spec: {path: ./all, dependsOn: [{name: gates}], sourceRef: {kind: GitRepository, name: widgets}}
---`}
	dryRun = []string{"of: widgets", "argocd.argoproj.io/compare-options: ServerSideDiff=true"}
	// inProject puts the Application into an AppProject whose spec is SPEC.
	inProject = []string{"  source: {path: widgets}", "  project: team\n  source: {path: widgets}", "=== argocd/widgets", "---\napiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: team, namespace: argocd}\nspec: {SPEC}\n=== argocd/widgets"}
	idle      = []string{"=== flux-system/gates", `---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: idle, namespace: flux-system}
spec:
  dependsOn: [{name: nothing}]
  suspend: true
  path: ./idle
=== flux-system/idle
=== flux-system/gates`}
)

// line is a step in short.
func line(s Step) string {
	text := fmt.Sprintf("%d %s", s.Order, s.Unit)
	if s.Wave != nil {
		text += fmt.Sprintf(" %s", strings.TrimSpace(fmt.Sprintf("%s wave %d", s.Phase, *s.Wave)))
	}
	for _, item := range s.Items {
		text += fmt.Sprintf(", %s %s %s", item.Role, item.Name, strings.Join(item.Versions, " "))
	}
	if s.Others > 0 {
		text += fmt.Sprintf(", %d others", s.Others)
	}
	return strings.TrimSpace(text)
}

func TestStepsAreInTheOrderInWhichTheyAreApplied(t *testing.T) {
	hooks := []string{`sync-wave: "-1"`, `hook: PreSync, argocd.argoproj.io/sync-wave: "5"`}
	for name, c := range map[string]struct {
		world      string
		base, head []string
		want       []string
	}{
		"Flux": {world: "Flux", want: []string{
			"1 entry, 2 others", "2 flux-system/gates, gate widgets/gone v1alpha1", "3 flux-system/crds, removal widgets.example.com v1alpha1",
		}},
		"at the same time": {world: "Flux", head: []string{"dependsOn: [{name: gates}]", "dependsOn: []"}, want: []string{
			"1 entry, 2 others", "2 flux-system/crds, removal widgets.example.com v1alpha1", "2 flux-system/gates, gate widgets/gone v1alpha1",
		}},
		"Argo CD": {world: "Argo CD", want: []string{
			"1 entry, 3 others", "2 argocd/widgets wave -1, gate widgets/gone v1alpha1", "3 argocd/widgets wave 0, removal widgets.example.com v1alpha1",
		}},
		"a hook": {world: "Argo CD", head: hooks, want: []string{
			"1 entry, 3 others", "2 argocd/widgets PreSync wave 5, gate widgets/gone v1alpha1", "3 argocd/widgets wave 0, removal widgets.example.com v1alpha1",
		}},
		"an object that is skipped": {world: "Argo CD", head: []string{`sync-wave: "-1"`, `hook: Skip`}, want: []string{
			"1 entry, 3 others", "2 argocd/widgets wave 0, removal widgets.example.com v1alpha1",
		}},
		"an app of apps": {world: "app of apps", base: newInApps, want: []string{
			"1 entry, 3 others", "2 argocd/all wave 1, 1 others", "3 argocd/gates wave -1, gate widgets/gone v1alpha1",
			"4 argocd/all wave 2, 1 others", "5 argocd/crds wave 0, removal widgets.example.com v1alpha1",
		}},
		"an app of apps whose apps are there already": {world: "app of apps", want: []string{
			"1 argocd/crds wave 0, removal widgets.example.com v1alpha1", "1 entry, 3 others", "2 argocd/all wave 1, 1 others",
			"3 argocd/gates wave -1, gate widgets/gone v1alpha1", "4 argocd/all wave 2, 1 others",
		}},
		"the steps of a RollingSync": {world: "steps", want: []string{
			"1 entry, 5 others", "2 argocd/gates wave -1, gate widgets/gone v1alpha1", "3 argocd/crds wave 0, removal widgets.example.com v1alpha1",
		}},
		"a flip": {world: "Flux", base: storesOld, head: flipOnly, want: []string{
			"1 entry, 2 others", "2 flux-system/gates", "3 flux-system/crds, flip widgets.example.com",
		}},
		"another change": {world: "Flux", head: with(flipOnly, []string{"None", "Webhook"}), want: []string{
			"1 entry, 2 others", "2 flux-system/gates", "3 flux-system/crds, changed widgets.example.com",
		}},
		"no change": {world: "Flux", head: flipOnly, want: []string{
			"1 entry, 2 others", "2 flux-system/gates", "3 flux-system/crds, 1 others",
		}},
		"an Application of nothing": {world: "app of apps", base: newInApps, head: []string{theGate, "\n"}, want: []string{
			"1 entry, 3 others", "2 argocd/all wave 1, 1 others", "3 argocd/gates wave 0",
			"4 argocd/all wave 2, 1 others", "5 argocd/crds wave 0, removal widgets.example.com v1alpha1",
		}},
		"a circle": {world: "Flux", head: []string{"timeout: 10m", "dependsOn: [{name: crds}]"}, want: []string{
			"1 entry, 2 others", "2 flux-system/gates, gate widgets/gone v1alpha1", "3 flux-system/crds, removal widgets.example.com v1alpha1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range rolledOut(t, c.world, c.base, c.head).Steps {
				got = append(got, line(s))
			}
			NewWithT(t).Expect(got).To(Equal(c.want))
		})
	}
}

// A Kustomization that waits for what it applies, of which one waits for it, never ends.
func TestAChildMustNotWaitForAParentThatWaitsForIt(t *testing.T) {
	for name, c := range map[string]struct {
		wait string
		want []string
	}{
		"the parent waits":         {"wait: true", []string{"DependencyCycle error"}},
		"the parent does not wait": {"wait: false", nil},
	} {
		t.Run(name, func(t *testing.T) {
			world := strings.NewReplacer("=== entry", `=== entry
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: all, namespace: flux-system}
spec: {path: ./all, `+c.wait+`, sourceRef: {kind: GitRepository, name: widgets}}
=== flux-system/all`, "timeout: 10m", "timeout: 10m\n  dependsOn: [{name: all}]").Replace
			base, head := clusterOf(t, world(worlds["Flux"][0])), clusterOf(t, world(worlds["Flux"][1]))
			r := Of(base, head, changesOf(&base, &head), key)
			NewWithT(t).Expect(found(r)).To(matchBeginnings(c.want))
		})
	}
}
