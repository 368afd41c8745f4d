package rollout

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// aReleaseBehind is a HelmRelease that a unit applies, where the gate is in another one that it depends on.
type aReleaseBehind struct {
	// spec is that of the HelmRelease, beside and elsewhere are more objects of its unit and of the gate's, each before and after.
	spec, beside, elsewhere [2]string
	edit                    [2]string // of the wiring, after
	want                    []string
	why, fix                string
}

func (r aReleaseBehind) world(side int) string {
	wiring, crds := fluxWiring, "=== flux-system/gates\n"+r.elsewhere[0]
	crd := crdBefore
	if side == 1 {
		wiring, crds, crd = strings.Replace(wiring, r.edit[0], r.edit[1], 1), "=== flux-system/gates"+theGate+"---\n"+r.elsewhere[1], crdAfter
	}
	release := "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: chart, namespace: widgets}\nspec: " + r.spec[side] + "\n"
	return wiring + crds + "=== flux-system/crds\n" + release + "---\n" + r.beside[side] + "=== HelmRelease widgets/chart" + crd
}

func exact(version string) string {
	return "{chart: {spec: {chart: chart, version: " + version + ", sourceRef: {kind: HelmRepository, name: charts}}}}"
}

func object(kind, name, more string) string {
	return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: widgets}\n" + more + "\n---\n"
}

func twice(text string) [2]string { return [2]string{text, text} }

var (
	ofGit    = twice("{chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: charts}}}}")
	ofOCI    = twice("{chartRef: {kind: OCIRepository, name: o}}")
	ofChart  = twice("{chartRef: {kind: HelmChart, name: h}}")
	itsTags  = [2]string{object("OCIRepository", "o", "spec: {ref: {tag: 1.0.0}}"), object("OCIRepository", "o", "spec: {ref: {tag: 2.0.0}}")}
	values   = [2]string{object("ConfigMap", "v", "data: {a: b}"), object("ConfigMap", "v", "data: {a: c}")}
	withThem = twice("{valuesFrom: [{kind: ConfigMap, name: v}], chart: {spec: {chart: chart, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts}}}}")
	notHeld  = []string{"GateNotHeldByParent error flux-system/crds/chart/metadata.name"}
)

var releasesBehind = map[string]aReleaseBehind{
	"another exact version":               {spec: [2]string{exact("1.0.0"), exact("2.0.0")}},
	"a range of versions":                 {spec: [2]string{exact("1.x"), exact("2.x")}, want: notHeld, why: "only its parent flux-system/crds waits", fix: "name an exact version"},
	"a range before":                      {spec: [2]string{exact("'>=1.0.0'"), exact("2.0.0")}, want: notHeld},
	"the parent depends on nothing":       {spec: [2]string{exact("1.0.0"), exact("2.0.0")}, edit: [2]string{"dependsOn: [{name: gates}]", "dependsOn: []"}, want: []string{"GateNotEarlier error"}, why: "flux-system/crds, which applies the CRD's HelmRelease widgets/chart, does not depend on that", fix: "list flux-system/gates under dependsOn of flux-system/crds"},
	"a chart of a branch":                 {spec: ofGit, beside: twice(object("GitRepository", "charts", "spec: {ref: {branch: main}}")), want: notHeld},
	"a chart of a repository that is far": {spec: ofGit, want: notHeld},
	"a chart of a tag":                    {spec: ofGit, beside: [2]string{object("GitRepository", "charts", "spec: {ref: {tag: v1}}"), object("GitRepository", "charts", "spec: {ref: {tag: v2}}")}},
	"a tag of an artifact":                {spec: ofOCI, beside: itsTags},
	"a tag of an artifact, elsewhere":     {spec: ofOCI, elsewhere: itsTags, want: notHeld},
	"a range of an artifact":              {spec: ofOCI, beside: twice(object("OCIRepository", "o", "spec: {ref: {semver: 1.x}}")), want: notHeld},
	"the newest artifact":                 {spec: ofOCI, beside: twice(object("OCIRepository", "o", "spec: {}")), want: notHeld},
	"values":                              {spec: withThem, beside: values},
	"values, elsewhere":                   {spec: withThem, elsewhere: values, want: notHeld},
	"values that stay, elsewhere":         {spec: withThem, elsewhere: twice(values[0])},
	"a HelmChart":                         {spec: ofChart, beside: [2]string{object("HelmChart", "h", "spec: {chart: c, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts}}"), object("HelmChart", "h", "spec: {chart: c, version: 2.0.0, sourceRef: {kind: HelmRepository, name: charts}}")}},
	"a HelmChart, elsewhere":              {spec: ofChart, elsewhere: [2]string{object("HelmChart", "h", "spec: {chart: c, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts}}"), object("HelmChart", "h", "spec: {chart: c, version: 2.0.0, sourceRef: {kind: HelmRepository, name: charts}}")}, want: notHeld},
}

// A HelmRelease gets a commit through its manifest, its source and its values. What its parent waits for holds it if all that changes of
// these is the parent's.
func TestAReleaseWaitsForWhatItsParentWaitsFor(t *testing.T) {
	for name, c := range releasesBehind {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			worlds["it"] = [2]string{c.world(0), c.world(1)}
			r := rolledOut(t, "it", nil, nil)
			g.Expect(found(r)).To(matchBeginnings(c.want))
			if len(c.want) > 0 {
				g.Expect(r.Findings[0].Why).To(ContainSubstring(c.why))
				g.Expect(r.Findings[0].Remediation).To(ContainSubstring(c.fix))
			}
		})
	}
}

// With Argo CD around it, what comes in an earlier wave than the HelmRelease is not held with it.
func TestTheSourceOfAReleaseInAnEarlierWaveIsNotHeld(t *testing.T) {
	for wave, want := range map[string][]string{"0": nil, "-2": {"GateNotHeldByParent error"}} {
		source := func(tag string) string {
			return "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: o, namespace: widgets, annotations: {argocd.argoproj.io/sync-wave: '" + wave + "'}}\nspec: {ref: {tag: " + tag + "}}\n"
		}
		release := "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: chart, namespace: widgets}\nspec: " + ofOCI[0] + "\n"
		worlds["it"] = [2]string{
			argoWiring + "=== argocd/widgets\n" + release + source("1.0.0") + "=== HelmRelease widgets/chart" + crdBefore,
			argoWiring + "=== argocd/widgets" + theGate + release + source("2.0.0") + "=== HelmRelease widgets/chart" + crdAfter,
		}
		NewWithT(t).Expect(found(rolledOut(t, "it", nil, nil))).To(matchBeginnings(want), wave)
	}
}
