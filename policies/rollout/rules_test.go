package rollout

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// keepsBoth undoes the removal in the head.
var keepsBoth = []string{"  - {name: v1, served", "  - {name: v1alpha1, served: true, storage: false}\n  - {name: v1, served"}

// flipOnly lets the head move the storage version from v1alpha1 to v1 and remove nothing, without a gate.
var (
	storesOld = []string{"name: v1alpha1, served: true, storage: false", "name: v1alpha1, served: true, storage: true", "name: v1, served: true, storage: true", "name: v1, served: true, storage: false"}
	flipOnly  = append([]string{theGate, "\n"}, keepsBoth...)
	noGate    = []string{theGate, "\n"}
)

type ruleCase struct {
	world      string
	base, head []string // edits
	want       []string // beginnings of rule, severity and place, sorted
	why        string   // is in the first one's Why
	notWhy     string   // is not
	fix        string   // is in the first one's Remediation
}

// newInApps has the CRD in another unit, of another folder, so that the one of the head comes with the commit.
var (
	renamed   = []string{"name: crds,", "name: old,", "/crds\n", "/old\n"}
	newInApps = slices.Concat(renamed, []string{"path: crds}", "path: old}"})
	newInFlux = slices.Concat(renamed, []string{"path: ./crds,", "path: ./old,"})
)

// atTheRoot has the unit of the CRD apply the Kustomization of the gate.
var atTheRoot = []string{"kind: Kustomization\nmetadata: {name: gates,", "kind: Absent\nmetadata: {name: gates,", "dependsOn: [{name: gates}]", "dependsOn: []", "=== flux-system/crds", `=== flux-system/crds
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: gates, namespace: flux-system}
spec: {path: ./gates, wait: true, timeout: 10m, prune: true, sourceRef: {kind: GitRepository, name: widgets}}
---`}

// atRevision pins both units.
func atRevision(name string) []string {
	return []string{"{path: gates}", "{path: gates, targetRevision: " + name + "}", "{path: crds}", "{path: crds, targetRevision: " + name + "}"}
}

// releaseSpec adds to what the HelmRelease says.
func releaseSpec(more string) []string {
	return []string{"spec: {chart:", "spec: {" + more + ", chart:"}
}

func with(edits ...[]string) []string { return slices.Concat(edits...) }

var ruleCases = map[string]ruleCase{
	"Flux, all is well":     {world: "Flux"},
	"Argo CD, all is well":  {world: "Argo CD"},
	"in apps, all is well":  {world: "app of apps", base: newInApps},
	"rendered, in no order": {world: "Helm", want: []string{"GateNotEarlier warning stdin/gone"}},
	"rendered, in waves":    {world: "Helm", head: []string{"none: ", "argocd.argoproj.io/sync-wave: "}, want: []string{"GateHealthUnseen info stdin/gone"}},

	"no gate":                         {world: "Flux", head: noGate, want: []string{"RemovalWithoutGate warning flux-system/crds/widgets.example.com/spec.versions"}, why: "v1alpha1 leaves"},
	"no gate with Argo CD":            {world: "Argo CD", head: noGate, want: []string{"RemovalWithoutGate warning argocd/widgets"}},
	"no gate where nothing leaves":    {world: "Flux", head: with(noGate, keepsBoth, []string{"None", "Webhook"})},
	"a gate for another version":      {world: "Flux", head: []string{"versions: [v1alpha1]", "versions: [v1beta1]"}, want: []string{"GateLacksVersion error flux-system/gates/gone/spec.versions"}, why: "v1alpha1 leaves, but VersionRemoval widgets/gone is for v1beta1"},
	"a gate for one of two":           {world: "Flux", base: []string{"  versions:\n", "  versions:\n  - {name: v1beta1, served: false, storage: false}\n"}, want: []string{"GateLacksVersion error"}, why: "v1beta1 leaves"},
	"a gate for both":                 {world: "Flux", base: []string{"  versions:\n", "  versions:\n  - {name: v1beta1, served: false, storage: false}\n"}, head: []string{"versions: [v1alpha1]", "versions: [v1beta1, v1alpha1]"}},
	"a gate for each":                 {world: "Flux", base: []string{"  versions:\n", "  versions:\n  - {name: v1beta1, served: false, storage: false}\n"}, head: []string{theGate, theGate + "---" + strings.NewReplacer("gone", "two", "v1alpha1]", "v1beta1]").Replace(theGate)}},
	"a gate for what is stored":       {world: "Flux", head: []string{"versions: [v1alpha1]", "versions: [v1alpha1, v1]"}, want: []string{"GateCannotOpen error flux-system/gates/gone/spec.versions"}, why: "names v1, at which"},
	"the label comes with it":         {world: "Flux", base: []string{`labels: {moult.dev/migrate: "true"}`, "labels: {}"}, want: []string{"GateCannotOpen error"}, why: "until this commit is applied the CRD is not opted in"},
	"the label comes, without a gate": {world: "Flux", base: []string{`labels: {moult.dev/migrate: "true"}`, "labels: {}"}, head: noGate, want: []string{"RemovalWithoutGate warning"}},
	"a name that is mistyped":         {world: "Flux", head: []string{"crdName: widgets", "crdName: widget"}, want: []string{"GateForNothing warning flux-system/gates/gone/spec.crdName", "RemovalWithoutGate warning"}, why: "widget.example.com, which this cluster does not get"},
	"it may be in what is not seen":   {world: "Flux", head: []string{"crdName: widgets", "crdName: widget", "=== flux-system/gates\n", "=== flux-system/gates (unseen)\n"}, want: []string{"RemovalWithoutGate warning", "UnseenChanged warning entry/gates/spec"}},
	"mistyped, a commit ago":          {world: "Flux", base: []string{"=== flux-system/gates\n", "=== flux-system/gates" + strings.ReplaceAll(theGate, "crdName: widgets", "crdName: widget")}, head: []string{"crdName: widgets", "crdName: widget"}, want: []string{"RemovalWithoutGate warning"}},
	"a gate before its removal":       {world: "Flux", head: with(keepsBoth, []string{"None", "Webhook"}), want: []string{"GateForNothing warning flux-system/gates/gone/spec.versions"}, why: "which the CRD still has"},

	"Flux, no dependsOn":               {world: "Flux", head: []string{"dependsOn: [{name: gates}]", "dependsOn: []"}, want: []string{"GateNotEarlier error flux-system/gates/gone"}, why: "does not depend on that"},
	"Flux, the root brings the CRD":    {world: "Flux", base: atTheRoot, head: atTheRoot, want: []string{"GateNotEarlier error flux-system/gates/gone"}, why: "flux-system/crds does not depend on that", fix: "flux-system/crds applies flux-system/gates, so it cannot wait for it"},
	"Flux, the gate beside the CRD":    {world: "Flux", head: []string{"=== flux-system/gates" + theGate + "=== flux-system/crds", "=== flux-system/gates\n=== flux-system/crds" + theGate + "---"}, want: []string{"GateNotEarlier error"}, why: "in the same Kustomization as the CRD"},
	"Flux, through a third":            {world: "Flux", head: with([]string{"dependsOn: [{name: gates}]", "dependsOn: [{name: between}]"}, between)},
	"Flux, through a third, not":       {world: "Flux", head: with([]string{"dependsOn: [{name: gates}]", "dependsOn: [{name: between}]"}, between, []string{"dependsOn: [{name: gates}] # between", "dependsOn: []"}), want: []string{"GateNotEarlier error"}},
	"Flux, beside the Kustomization":   {world: "Flux", head: []string{"=== flux-system/gates" + theGate, "---" + strings.ReplaceAll(theGate, "argocd.argoproj.io/sync-wave", "none") + "=== flux-system/gates\n", "dependsOn: [{name: gates}]", "dependsOn: []"}, want: []string{"GateNotEarlier warning entry/gone"}, why: "flux-system/crds does not depend on that"},
	"Flux in Argo CD, all is well":     {world: "Flux in Argo CD", base: newInFlux},
	"Flux in Argo CD, on its own":      {world: "Flux in Argo CD", want: []string{"GateNotHeldByParent error argocd/all/crds/metadata.name"}, why: "flux-system/crds takes the commit by itself, and only its parent argocd/all waits for VersionRemoval widgets/gone, in flux-system/gates", fix: "list flux-system/gates under dependsOn of flux-system/crds"},
	"Flux in Argo CD, of two sources":  {world: "Flux in Argo CD", base: twoSources, head: with(twoSources, gateInFront), want: []string{"GateAtOtherCommit warning argocd/all/crds/spec.dependsOn", "GateHealthUnseen info", "SyncWaitsForever info"}, why: "it is of another source"},
	"Flux in Argo CD, one wave":        {world: "Flux in Argo CD", head: []string{`sync-wave: "2"`, `sync-wave: "1"`}, want: []string{"GateNotEarlier error flux-system/gates/gone"}},
	"Flux in Argo CD, not waited for":  {world: "Flux in Argo CD", head: []string{"wait: true", "wait: false"}, want: []string{"GateNotWaitedFor error argocd/all/gates/spec"}},
	"Argo CD, the wave of the CRD":     {world: "Argo CD", head: []string{`sync-wave: "-1"`, `sync-wave: "0"`}, want: []string{"GateNotEarlier error argocd/widgets/gone"}, why: "not in a lower sync wave than the CRD, which is in wave 0", fix: `sync-wave: "-1"`},
	"Argo CD, a gate of no namespace":  {world: "Argo CD", head: []string{`sync-wave: "-1"`, `sync-wave: "0"`, "name: gone, namespace: widgets", "name: gone"}, want: []string{"GateNotEarlier error argocd/widgets/gone"}, why: "VersionRemoval widgets/gone is not"},
	"Argo CD, no wave at all":          {world: "Argo CD", head: []string{`sync-wave: "-1"`, `x: "0"`}, want: []string{"GateNotEarlier error"}},
	"Argo CD, before the sync":         {world: "Argo CD", head: []string{`sync-wave: "-1"`, `hook: PreSync`}},
	"Argo CD, after the sync":          {world: "Argo CD", head: []string{`sync-wave: "-1"`, `hook: PostSync`}, want: []string{"GateNotEarlier error"}},
	"in apps, not before":              {world: "app of apps", head: []string{`sync-wave: "2"`, `sync-wave: "1"`}, want: []string{"GateNotEarlier error argocd/gates/gone"}, why: "independently of one another"},
	"in apps, on its own":              {world: "app of apps", want: []string{"GateNotHeldByParent error argocd/all/crds/metadata.name"}, why: "argocd/crds takes the commit by itself", fix: "into one Application"},
	"in apps, renamed":                 {world: "app of apps", base: renamed, want: []string{"GateNotHeldByParent error argocd/all/crds/metadata.name"}},
	"in apps, both follow a tag":       {world: "app of apps", base: atRevision("one"), head: atRevision("two"), want: []string{"GateMayBeMissed warning argocd/all/crds/metadata.name", "SourceMoved warning", "SourceMoved warning"}},
	"in apps, both stay at a tag":      {world: "app of apps", base: atRevision("one"), head: atRevision("one"), want: []string{"GateNotHeldByParent error"}},
	"in apps, nobody knows the health": {world: "app of apps", base: newInApps, head: []string{"health.argoproj.io_Application", "health.argoproj.io_Other"}, want: []string{"ApplicationHealthUnknown warning argocd/all/gates/metadata.annotations.argocd.argoproj.io/sync-wave"}},
	"Flux, nothing is waited for":      {world: "Flux", head: []string{"wait: true # gates", "wait: false"}, want: []string{"GateNotWaitedFor error entry/gates/spec"}},
	"Flux, the gate is waited for":     {world: "Flux", head: []string{"wait: true # gates", "healthChecks: [{apiVersion: moult.dev/v1alpha1, kind: VersionRemoval, name: gone, namespace: widgets}]"}},
	"Flux, another is waited for":      {world: "Flux", head: []string{"wait: true # gates", "healthChecks: [{apiVersion: moult.dev/v1alpha1, kind: VersionRemoval, name: other, namespace: widgets}]"}, want: []string{"GateNotWaitedFor error"}},
	"Flux, of another source":          {world: "Flux", base: []string{"name: widgets}\n  path: ./gates", "name: gates}\n  path: ./gates"}, head: []string{"name: widgets}\n  path: ./gates", "name: gates}\n  path: ./gates"}, want: []string{"GateAtOtherCommit warning entry/crds/spec.dependsOn"}, why: "GitRepository flux-system/gates, not GitRepository flux-system/widgets"},
	"Flux, with an expression":         {world: "Flux", head: []string{"[{name: gates}]", "[{name: gates, readyExpr: 'true'}]"}, want: []string{"GateAtOtherCommit warning"}, why: "readyExpr"},

	"Argo CD, the gate is as it was":      {world: "Argo CD", base: gateBefore, want: []string{"GateUnchanged warning argocd/widgets/gone/spec"}},
	"Argo CD, it would be passed over":    {world: "Argo CD", base: gateBefore, head: []string{"CreateNamespace=true", "ApplyOutOfSyncOnly=true"}, want: []string{"GateUnchanged error"}, why: "with ApplyOutOfSyncOnly=true argocd/widgets does not wait"},
	"Argo CD, passed over in another try": {world: "Argo CD", head: []string{"CreateNamespace=true", "ApplyOutOfSyncOnly=true"}, want: []string{"GateMayBeMissed warning entry/widgets/spec.syncPolicy.syncOptions"}, why: "the next one passes it over", fix: "out of the Application"},
	"Argo CD, the gate has changed":       {world: "Argo CD", base: with(gateBefore, []string{"versions: [v1alpha1]", "versions: [v1alpha0]"})},
	"Flux, the gate is as it was":         {world: "Flux", base: []string{"=== flux-system/gates\n", "=== flux-system/gates" + theGate}},
	"Argo CD does not know gates":         {world: "Argo CD", head: []string{"health.moult.dev_VersionRemoval", "health.moult.dev_Other"}, want: []string{"GateHealthUnseen info argocd/widgets/gone"}},
	"Argo CD knows gates, the old way":    {world: "Argo CD", head: []string{"resource.customizations.health.moult.dev_VersionRemoval: return {}", `resource.customizations: "moult.dev/VersionRemoval: {health.lua: x}"`}},
	"Argo CD needs not know without gate": {world: "Argo CD", head: with(flipOnly, []string{"health.moult.dev_VersionRemoval", "health.moult.dev_Other", "None", "Webhook"})},

	"the storage moves":                  {world: "Flux", base: storesOld, head: flipOnly},
	"the storage moves, and away":        {world: "Flux", base: storesOld, want: []string{"FlipWithRemoval error flux-system/crds/widgets.example.com/spec.versions"}, why: "every object is stored at v1alpha1 until this commit"},
	"the storage moves back, and away":   {world: "Flux", base: with(storesOld, []string{"name: v1alpha1, served: true, storage: true", "name: v2, served: true, storage: true"}), head: []string{"versions: [v1alpha1]", "versions: [v2]"}, want: []string{"FlipWithRemoval error flux-system/crds/widgets.example.com/spec.versions"}, why: "this goes back from v2 to v1: every object is stored at v2", fix: "commit this first, in place of it: spec.versions: [{name: v1, served: true, storage: false}, {name: v2, served: true, storage: true}]; `moult bridge --keep-storage` prints the whole CRD. `moult plan widgets.example.com --back-to v1` prints all of the steps"},
	"the storage moves, another leaves":  {world: "Flux", base: with(storesOld, []string{"  versions:\n", "  versions:\n  - {name: v0, served: true, storage: false}\n"}), head: with(keepsBoth, []string{"versions: [v1alpha1]", "versions: [v0]"})},
	"the storage moves to a new version": {world: "Flux", base: with(storesOld, []string{"  - {name: v1, served: true, storage: false}\n", ""}), head: flipOnly, want: []string{"FlipNotServed warning flux-system/crds/widgets.example.com/spec.versions"}},
	"to one that was not served":         {world: "Flux", base: with(storesOld, []string{"name: v1, served: true", "name: v1, served: false"}), head: flipOnly, want: []string{"FlipNotServed warning"}},
	"to one that may be stored":          {world: "Flux", base: with(storesOld, []string{"name: v1, served: true", "name: v1, served: false"}), head: with(flipOnly, []string{"crd: here", "moult.dev/allow-storage: 'v2, v1'"})},
	"to one that might have been":        {world: "Flux", base: with(storesOld, []string{"name: v1, served: true", "name: v1, served: false", "crd: here", "moult.dev/allow-storage: v1"}), head: flipOnly},

	"the label goes":                  {world: "Flux", head: with(noGate, keepsBoth, noLabel), want: []string{"LabelDropped warning flux-system/crds/widgets.example.com/metadata.labels.moult.dev/migrate"}},
	"the label goes, a gate stays":    {world: "Flux", base: keepsBoth, head: with(keepsBoth, noLabel), want: []string{"GateForNothing warning", "LabelDropped error"}, why: "waits for ever"},
	"the label goes with a version":   {world: "Flux", head: noLabel, want: []string{"LabelDropped error"}},
	"the label says no":               {world: "Flux", head: with(noGate, keepsBoth, []string{`migrate: "true"`, `migrate: "false"`})},
	"there was no label":              {world: "Flux", base: noLabel, head: with(noGate, keepsBoth, noLabel, []string{"None", "Webhook"}), want: []string{"NotLabelled info"}},
	"no label, the storage moves":     {world: "Flux", base: with(storesOld, noLabel), head: with(flipOnly, noLabel), want: []string{"NotLabelled warning"}},
	"the CRD goes, unpruned":          {world: "Flux", head: with(noGate, []string{crdAfter, "\n"}), want: []string{"CRDLeft info entry/crds/spec.prune"}},
	"the CRD goes, pruned":            {world: "Flux", head: with(noGate, []string{crdAfter, "\n", "prune: false # crds", "prune: true"}), want: []string{"CRDPruned error entry/crds/spec.prune"}, why: "deletes the CRD with all its objects"},
	"the CRD goes, and is excepted":   {world: "Flux", base: []string{"crd: here", "kustomize.toolkit.fluxcd.io/prune: disabled"}, head: with(noGate, []string{crdAfter, "\n", "prune: false # crds", "prune: true"}), want: []string{"CRDLeft info"}},
	"the CRD goes with its unit":      {world: "Flux", base: []string{"prune: false # crds", "prune: true"}, head: unitGone, want: []string{"CRDPruned error"}},
	"its unit goes and deletes":       {world: "Flux", base: []string{"prune: false # crds", "deletionPolicy: Delete"}, head: unitGone, want: []string{"CRDPruned error"}},
	"its unit goes and leaves it":     {world: "Flux", base: []string{"prune: false # crds", "prune: true\n  deletionPolicy: Orphan"}, head: unitGone, want: []string{"CRDLeft info"}},
	"the CRD moves, pruned":           {world: "Flux", base: moves, head: []string{"prune: false # crds", "prune: true"}, want: []string{"CRDPruned error"}, why: "the CRD moves from flux-system/gates"},
	"its unit is not seen any more":   {world: "Flux", head: with(noGate, []string{crdAfter, "\n", "=== flux-system/crds", "=== flux-system/crds (unseen)", "prune: false # crds", "prune: true"}), want: []string{"UnseenChanged warning entry/crds/spec"}, why: "could be seen before this change and cannot any more"},
	"the CRD goes from Argo CD":       {world: "Argo CD", head: []string{theGate + "---" + crdAfter, "\n"}, want: []string{"CRDLeft info entry/widgets/spec"}},
	"a chart's CRD stays":             {world: "release"},
	"a chart's CRD goes":              {world: "release", head: []string{crdBefore, "\n"}, want: []string{"CRDPruned error entry/chart/spec"}, why: "HelmRelease widgets/chart does not hold the CRD any more, so Helm deletes the CRD with all its objects", fix: "helm.sh/resource-policy: keep and let that be applied, then take it out"},
	"it goes, and Helm keeps it":      {world: "release", base: []string{"crd: here", "helm.sh/resource-policy: keep"}, head: []string{crdBefore, "\n"}, want: []string{"CRDLeft info entry/chart/spec"}},
	"it goes from a chart's crds/":    {world: "release", base: []string{"=== HelmRelease widgets/chart", "=== HelmRelease widgets/chart (crds/)"}, head: []string{crdBefore, "\n"}, want: []string{"CRDLeft info entry/chart/spec"}},
	"its release has its own name":    {world: "release", head: releaseSpec("releaseName: chart")},
	"its release is renamed":          {world: "release", head: releaseSpec("releaseName: other"), want: []string{"CRDPruned error entry/chart/spec"}, why: "HelmRelease widgets/chart becomes another release", fix: "then change the release"},
	"its release goes elsewhere":      {world: "release", head: releaseSpec("targetNamespace: other, releaseName: chart"), want: []string{"CRDPruned error"}, why: "becomes another release"},
	"the namespace is in its name":    {world: "release", base: releaseSpec("targetNamespace: widgets"), head: releaseSpec("targetNamespace: widgets, releaseName: widgets-chart")},
	"its release is stored elsewhere": {world: "release", head: releaseSpec("storageNamespace: other"), want: []string{"CRDPruned error"}, why: "becomes another release"},
	"its release is of another chart": {world: "release", head: []string{"chart: chart,", "chart: other,"}, want: []string{"CRDPruned error"}, why: "becomes another release"},
	"its release is upgraded":         {world: "release", head: []string{"1.0.0", "2.0.0"}},
	"its chart is not seen any more":  {world: "release", head: []string{"=== HelmRelease widgets/chart" + crdBefore, ""}, want: []string{"UnseenChanged warning entry/chart/spec"}},
	"a chart stays, and a CRD goes":   {world: "Flux", base: withRelease, head: with(withRelease, noGate, []string{crdAfter, "\n"}), want: []string{"CRDLeft info", "NotFollowed warning entry/chart/spec"}},
	"the CRD goes, two units had it":  {world: "Flux", base: []string{"=== flux-system/gates\n", "=== flux-system/gates" + crdBefore}, want: []string{"CRDPruned error entry/gates/spec.prune"}},
}

var (
	noLabel    = []string{`labels: {moult.dev/migrate: "true"}`, "labels: {}"}
	gateBefore = []string{"=== argocd/widgets", "=== argocd/widgets" + theGate + "---"}
	unitGone   = []string{theGate, "\n", "=== flux-system/crds" + crdAfter, "", "name: crds", "name: other"}
	moves      = []string{"=== flux-system/gates\n=== flux-system/crds", "=== flux-system/crds\n=== flux-system/gates"}
	// gateInFront puts the gate beside the Kustomizations, in front of a new one that the CRD's depends on; twoSources lets that
	// one be of another source.
	gateInFront = []string{"=== flux-system/gates" + theGate, "=== flux-system/between\n", "name: gates, namespace: flux-system", "name: between, namespace: flux-system", "./gates", "./between", "=== argocd/all", "=== argocd/all" + theGate + "---"}
	twoSources  = []string{"path: ./crds,", "sourceRef: {kind: GitRepository, name: other}, dependsOn: [{name: between}], path: ./crds,"}
	between     = []string{"=== flux-system/gates", `---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: between, namespace: flux-system}
spec:
  dependsOn: [{name: gates}] # between
  sourceRef: {kind: GitRepository, name: widgets}
  path: ./between
=== flux-system/between
=== flux-system/gates`}
)

// nowhere are the cases in which the head has neither the CRD nor what applied it.
var nowhere = []string{"the CRD goes with its unit", "its unit goes and deletes", "its unit goes and leaves it", "a chart goes"}

func TestWhatIsFound(t *testing.T) {
	for name, c := range allCases() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := rolledOut(t, c.world, c.base, c.head)
			g.Expect(found(r)).To(matchBeginnings(c.want))
			for _, f := range r.Findings {
				g.Expect(f.Why).NotTo(BeEmpty())
				g.Expect(f.Cluster).To(Equal("production"))
				g.Expect(f.Place.File == "").To(Equal(slices.Contains(nowhere, name)), f.Rule)
			}
			if len(r.Findings) > 0 {
				g.Expect(r.Findings[0].Why).To(ContainSubstring(c.why))
				g.Expect(r.Findings[0].Remediation).To(ContainSubstring(c.fix))
			}
			if c.notWhy != "" {
				g.Expect(r.Findings[0].Why).NotTo(ContainSubstring(c.notWhy))
			}
		})
	}
}

func matchBeginnings(want []string) OmegaMatcher {
	matchers := make([]any, len(want))
	for i, beginning := range want {
		matchers[i] = HavePrefix(beginning)
	}
	if len(want) == 0 {
		return BeEmpty()
	}
	return ConsistOf(matchers...)
}

func allCases() map[string]ruleCase {
	all := map[string]ruleCase{}
	for _, some := range []map[string]ruleCase{ruleCases, lockCases, stepCases, toolCases, unseenCases} {
		for name, c := range some {
			all[name] = c
		}
	}
	return all
}

// Every rule is what some case is about: without it, that case fails.
func TestEveryRuleIsNeeded(t *testing.T) {
	whole := slices.Clone(rules)
	defer func() { rules = whole }()
	worlds := map[string]pullRequest{}
	for name, c := range allCases() {
		worlds[name] = worldOf(t, c.world, c.base, c.head)
	}
	for i, r := range whole {
		t.Run("without "+r.name, func(t *testing.T) {
			rules = slices.Delete(slices.Clone(whole), i, i+1)
			var missed []string
			for name, c := range allCases() {
				if ok, err := matchBeginnings(c.want).Match(found(worlds[name].rollout())); err == nil && !ok {
					missed = append(missed, name)
				}
			}
			NewWithT(t).Expect(missed).NotTo(BeEmpty())
		})
	}
}

// However badly a gate holds, the rule that reports it is one by which it does not hold.
func TestWhatDoesNotHoldIsNotEnforced(t *testing.T) {
	byName := map[string]bool{}
	for _, r := range rules {
		byName[r.name] = true
	}
	g := NewWithT(t)
	g.Expect(NotEnforced).To(HaveEach(BeKeyOf(byName)))
	others := []string{GateCannotOpen, GateLocksItself, GateForNothing, GateHealthUnseen}
	for name, c := range allCases() {
		for _, want := range c.want {
			if rule, _, _ := strings.Cut(want, " "); strings.HasPrefix(rule, "Gate") {
				g.Expect(slices.Concat(others, NotEnforced)).To(ContainElement(rule), name)
			}
		}
	}
}
