package rollout

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

const (
	aRelease = `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: chart, namespace: widgets}
spec: {chart: {spec: {chart: chart, version: 1.0.0}}}
`
	ourSource = `---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: widgets, namespace: flux-system}
spec: {url: https://git.example.com/ours, ref: {branch: main}, interval: 1m}
`
)

// Where a release or a source is put: at the end of the entry point, before the first unit.
var (
	withRelease     = []string{"=== flux-system/gates", "---" + aRelease + "=== flux-system/gates"}
	withLater       = with(withRelease, []string{"version: 1.0.0", "version: 2.0.0"})
	withSource      = []string{"=== flux-system/gates", ourSource + "=== flux-system/gates"}
	suspendedSource = []string{"interval: 1m}", "suspend: true, interval: 1m}"}
	noRemoval       = with([]string{theGate, "\n"}, keepsBoth)
	elsewhere       = []string{"=== flux-system/crds", "=== flux-system/crds (unseen)"}
	elsewhereOfOCI  = []string{"sourceRef: {kind: GitRepository, name: widgets}\n  path: ./crds", "sourceRef: {kind: OCIRepository, name: widgets}\n  path: ./crds"}
)

var unseenCases = map[string]ruleCase{
	"a chart stays, a version leaves":  {world: "Flux", base: withRelease, head: withRelease, want: []string{"NotFollowed warning entry/chart/spec"}, why: "fails if it is written at a version that leaves: HelmRelease widgets/chart (it is elsewhere)"},
	"a chart stays, no version leaves": {world: "Flux", base: withRelease, head: with(withRelease, noRemoval), want: []string{"NotFollowed info entry/chart/spec"}, why: "the same before and after this change: HelmRelease widgets/chart"},
	"a chart comes":                    {world: "Flux", head: withRelease, want: []string{"UnseenChanged warning entry/chart/spec"}, why: "HelmRelease widgets/chart is new"},
	"a chart goes":                     {world: "Flux", base: withRelease, want: []string{"UnseenChanged warning "}, why: "no longer exists, or can be seen from now on"},
	"a chart changes":                  {world: "Flux", base: withRelease, head: withLater, want: []string{"UnseenChanged warning entry/chart/spec"}, why: "HelmRelease widgets/chart changes"},
	"a chart changes, and no CRD":      {world: "Flux", base: with(withRelease, []string{crdBefore, "\n"}), head: with(withLater, []string{theGate, "\n", crdAfter, "\n"}), want: []string{"UnseenChanged warning entry/chart/spec"}},
	"a unit of elsewhere is seen now":  {world: "Flux", base: with(elsewhere, []string{crdBefore, "\n"}), head: []string{theGate, "\n"}, want: []string{"UnseenChanged warning entry/crds/spec"}, why: "or can be seen from now on"},
	"a unit of elsewhere changes":      {world: "Flux", base: with(elsewhere, []string{crdBefore, "\n"}), head: with(elsewhere, elsewhereOfOCI, []string{theGate, "\n", crdAfter, "\n"}), want: []string{"UnseenChanged warning entry/crds/spec"}},

	"a chart stays, and a CRD changes":     {world: "Flux", base: withRelease, head: with(withRelease, noRemoval, []string{"None", "Webhook"}), want: []string{"NotFollowed info entry/chart/spec"}},
	"a unit comes from another source":     {world: "Flux", head: with(noRemoval, elsewhereOfOCI), want: []string{"SourceMoved warning entry/crds/spec.sourceRef"}, why: "from another place"},
	"its source is another branch":         {world: "Flux", base: withSource, head: with(noRemoval, withSource, []string{"branch: main", "branch: next"}), want: []string{"SourceMoved warning entry/widgets/spec.ref", "SourceMoved warning entry/widgets/spec.ref"}, why: "spec.ref of GitRepository widgets"},
	"its source is looked at more often":   {world: "Flux", base: withSource, head: with(noRemoval, withSource, []string{"interval: 1m}", "interval: 5m}"})},
	"its source is suspended":              {world: "Flux", base: withSource, head: with(noRemoval, withSource, []string{"interval: 1m}", "suspend: true, interval: 1m}"})},
	"its source stays suspended":           {world: "Flux", base: with(withSource, suspendedSource), head: with(noRemoval, withSource, suspendedSource)},
	"its source is resumed":                {world: "Flux", base: with(withSource, suspendedSource), head: with(noRemoval, withSource), want: []string{"SourceMoved warning entry/widgets/spec.suspend", "SourceMoved warning entry/widgets/spec.suspend"}, why: "spec.suspend of GitRepository widgets"},
	"its suspended source goes":            {world: "Flux", base: with(withSource, suspendedSource), head: noRemoval},
	"a unit goes to another cluster":       {world: "Flux", head: with(noRemoval, []string{"prune: false # crds", "kubeConfig: {secretRef: {name: x}}"}), want: []string{"SourceMoved warning entry/crds/spec.kubeConfig"}},
	"an Application is of another branch":  {world: "Argo CD", head: []string{"source: {path: widgets}", "source: {path: widgets, targetRevision: next}"}, want: []string{"SourceMoved warning entry/widgets/spec.source.targetRevision"}},
	"an Application is of another URL":     {world: "Argo CD", head: []string{"source: {path: widgets}", "source: {path: widgets, repoURL: x}"}, want: []string{"SourceMoved warning entry/widgets/spec.source.repoURL"}},
	"an Application goes elsewhere":        {world: "Argo CD", head: []string{"destination: {namespace: widgets}", "destination: {namespace: widgets, name: other}"}, want: []string{"SourceMoved warning entry/widgets/spec.destination"}},
	"an Application is of several sources": {world: "Argo CD", head: []string{"source: {path: widgets}", "sources: [{path: widgets}, {path: more}]"}, want: []string{"SourceMoved warning entry/widgets/spec.sources"}},
}

func TestOnlyWhatChangesUnseenLeavesItUnknown(t *testing.T) {
	g := NewWithT(t)
	unknown := map[string]bool{}
	for _, rule := range rules {
		if LeavesUnknown(rule.name) {
			unknown[rule.name] = true
		}
	}
	g.Expect(unknown).To(Equal(map[string]bool{UnseenChanged: true, SourceMoved: true}))
	for name, c := range unseenCases {
		for _, f := range rolledOut(t, c.world, c.base, c.head).Findings {
			g.Expect(f.Severity == finding.Info).To(Or(BeFalse(), Equal(f.Rule == NotFollowed)), name)
		}
	}
}

func TestAFewOfEachKindOfWhatIsNotFollowedAreNamed(t *testing.T) {
	g := NewWithT(t)
	var c delivery.Cluster
	for i, kind := range []string{"File", "HelmRelease", "HelmRelease", "HelmRelease", "HelmRelease", "HelmRelease"} {
		c.Unseen = append(c.Unseen, delivery.Unseen{Name: fmt.Sprintf("%s x%d", kind, i), By: delivery.Wrap(map[string]any{"kind": kind}), Why: "elsewhere"})
	}
	r := Of(c, c, nil, "")
	g.Expect(r.Findings).To(HaveLen(1))
	g.Expect(r.Findings[0].Why).To(HaveSuffix(": File x0 (elsewhere); HelmRelease x1 (elsewhere), HelmRelease x2 (elsewhere), HelmRelease x3 (elsewhere) and 2 more; the JSON report has them all"))
	g.Expect(r.NotFollowed).To(HaveLen(6))
}
