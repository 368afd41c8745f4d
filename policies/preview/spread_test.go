package preview_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
)

// manifest is a CRD of a file, which stores at the last of its versions.
func manifest(file, name string, versions ...string) *delivery.Object {
	all := make([]any, len(versions))
	for i, v := range versions {
		all[i] = map[string]any{
			"name": v, "served": true, "storage": i == len(versions)-1,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		}
	}
	return at(file, map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name + ".example.com"},
		"spec": map[string]any{"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": name, "plural": name}, "versions": all},
	})
}

func at(file string, content map[string]any) *delivery.Object {
	return &delivery.Object{
		Unstructured: &unstructured.Unstructured{Object: content},
		At:           func(...string) finding.Place { return finding.Place{File: file} },
	}
}

// files are the CRDs of a repository, each as its file, which is called by the CRD, and its versions. A folder is a unit.
func files(crds ...string) delivery.Cluster {
	var c delivery.Cluster
	for _, one := range crds {
		words := strings.Fields(one)
		folder, base := path.Dir(words[0]), path.Base(words[0])
		name, _, _ := strings.Cut(base, "-")
		name, _ = strings.CutSuffix(name, ".yaml")
		if c.Unit(folder) == nil {
			c.Units = append(c.Units, &delivery.Unit{Name: folder})
		}
		u := c.Unit(folder)
		u.Objects = append(u.Objects, manifest(words[0], name, words[1:]...))
	}
	return c
}

// inShort are the CRDs of a cluster, each as its folder and its versions.
func inShort(c delivery.Cluster) string {
	var all []string
	for _, crd := range c.CRDs() {
		name, _, _ := strings.Cut(crd.GetName(), ".")
		all = append(all, fmt.Sprintf("%s/%s %s", crd.Unit.Name, name, strings.Join(crd.Versions(), " ")))
	}
	return strings.Join(all, ", ")
}

type spreadCase struct {
	base, head []string
	// applied are the files that the repository as a whole amounts to, before and after.
	applied [2][]string
	denied  string // the file that no tool applies
	want    []string
	found   []string // rules, each with what is in its Why
}

var spreadCases = map[string]spreadCase{
	"a CRD that changes":                     {base: []string{"crd/widgets.yaml v1alpha1 v1"}, head: []string{"crd/widgets.yaml v1"}, want: []string{": crd/widgets v1alpha1 v1 → crd/widgets v1"}},
	"a CRD that comes":                       {head: []string{"crd/widgets.yaml v1"}, want: []string{":  → crd/widgets v1"}},
	"a CRD that goes":                        {base: []string{"crd/widgets.yaml v1"}, want: []string{": crd/widgets v1 → "}},
	"two copies that change alike":           {base: []string{"crd/widgets.yaml v1alpha1 v1", "chart/widgets.yaml v1alpha1 v1"}, head: []string{"crd/widgets.yaml v1", "chart/widgets.yaml v1"}, want: []string{": crd/widgets v1alpha1 v1 → crd/widgets v1"}},
	"two copies, one of which changes":       {base: []string{"crd/widgets.yaml v1alpha1 v1", "chart/widgets.yaml v1alpha1 v1"}, head: []string{"crd/widgets.yaml v1alpha1 v1", "chart/widgets.yaml v1"}, want: []string{": crd/widgets v1alpha1 v1 → crd/widgets v1alpha1 v1", "chart: chart/widgets v1alpha1 v1 → chart/widgets v1"}},
	"two copies that change otherwise":       {base: []string{"crd/widgets.yaml v0 v1", "chart/widgets.yaml v0 v1"}, head: []string{"crd/widgets.yaml v1", "chart/widgets.yaml v0 v2"}, want: []string{": crd/widgets v0 v1 → crd/widgets v1", "chart: chart/widgets v0 v1 → chart/widgets v0 v2"}},
	"two CRDs of which both have copies":     {base: []string{"crd/widgets.yaml v0 v1", "crd/gadgets.yaml v0 v1", "chart/widgets.yaml v0 v1", "chart/gadgets.yaml v0 v1"}, head: []string{"crd/widgets.yaml v1", "crd/gadgets.yaml v1", "chart/widgets.yaml v0", "chart/gadgets.yaml v0"}, want: []string{": crd/gadgets v0 v1, crd/widgets v0 v1 → crd/gadgets v1, crd/widgets v1", "chart: chart/gadgets v0 v1, chart/widgets v0 v1 → chart/gadgets v0, chart/widgets v0"}},
	"a copy that stays as it was elsewhere":  {base: []string{"crd/widgets.yaml v0 v1", "old/widgets.yaml v1"}, head: []string{"crd/widgets.yaml v1", "old/widgets.yaml v1"}, want: []string{": crd/widgets v0 v1 → crd/widgets v1"}},
	"a folder that is renamed":               {base: []string{"old/widgets.yaml v0 v1", "other/widgets.yaml v1"}, head: []string{"new/widgets.yaml v0 v1", "other/widgets.yaml v1"}, want: []string{": other/widgets v1 → other/widgets v1"}},
	"two that are renamed, and one changes":  {base: []string{"a/widgets.yaml v0", "b/widgets.yaml v1"}, head: []string{"c/widgets.yaml v1", "d/widgets.yaml v2"}, want: []string{": b/widgets v1 → c/widgets v1", "d: a/widgets v0 → d/widgets v2"}},
	"a folder that is renamed and changes":   {base: []string{"old/widgets.yaml v0 v1"}, head: []string{"new/widgets.yaml v1"}, want: []string{": old/widgets v0 v1 → new/widgets v1"}},
	"a copy that comes":                      {base: []string{"1.0/widgets.yaml v0", "1.1/widgets.yaml v1"}, head: []string{"1.0/widgets.yaml v0", "1.1/widgets.yaml v1", "1.2/widgets.yaml v2"}, want: []string{": 1.0/widgets v0 → 1.0/widgets v0", "1.2: 1.1/widgets v1 → 1.2/widgets v2"}},
	"the whole has the CRD":                  {base: []string{"crd/widgets.yaml v0 v1", "chart/widgets.yaml v0 v1"}, head: []string{"crd/widgets.yaml v1", "chart/widgets.yaml v1"}, applied: [2][]string{{"crd/widgets.yaml v0 v1"}, {"crd/widgets.yaml v1"}}, want: []string{": crd/widgets v0 v1 → crd/widgets v1"}},
	"the whole has the CRD, which goes":      {base: []string{"crd/widgets.yaml v1"}, applied: [2][]string{{"crd/widgets.yaml v1"}, nil}, want: []string{": crd/widgets v1 → "}},
	"the whole has it, and a copy otherwise": {base: []string{"crd/widgets.yaml v0 v1", "chart/widgets.yaml v0 v1"}, head: []string{"crd/widgets.yaml v1", "chart/widgets.yaml v0"}, applied: [2][]string{nil, {"crd/widgets.yaml v1"}}, want: []string{":  → crd/widgets v1", "crd: crd/widgets v0 v1 → crd/widgets v1", "chart: chart/widgets v0 v1 → chart/widgets v0"}},

	"a copy that goes while another stays": {
		base: []string{"crd/widgets.yaml v1", "old/widgets.yaml v1"}, head: []string{"crd/widgets.yaml v1"},
		want: []string{": crd/widgets v1 → crd/widgets v1"}, found: []string{"CRDLeavesFolder old no longer has the CRD, and another copy stays at crd"},
	},
	"it goes, and the others have not its versions": {
		base: []string{"crd/widgets.yaml v1", "old/widgets.yaml v0 v1"}, head: []string{"crd/widgets.yaml v1"},
		want: []string{": crd/widgets v1 → crd/widgets v1", "crd: old/widgets v0 v1 → crd/widgets v1"}, found: []string{"CRDLeavesFolder old"},
	},
	"it goes, and one of the others has them": {
		base: []string{"a/widgets.yaml v0 v1", "b/widgets.yaml v1", "old/widgets.yaml v0"}, head: []string{"a/widgets.yaml v0 v1", "b/widgets.yaml v1"},
		want: []string{": a/widgets v0 v1 → a/widgets v0 v1"}, found: []string{"CRDLeavesFolder other copies stay at a, b"},
	},
	"the bundle of an old release goes": {
		base: []string{"bundles/1.0.0/widgets.yaml v0", "bundles/v1.1.0-rc.1/widgets.yaml v1"}, head: []string{"bundles/v1.1.0-rc.1/widgets.yaml v1"},
		want: []string{": bundles/v1.1.0-rc.1/widgets v1 → bundles/v1.1.0-rc.1/widgets v1"}, found: []string{"CRDLeavesFolder bundles/1.0.0 no longer has"},
	},
	"many copies stay": {
		base: []string{"a/widgets.yaml v1", "b/widgets.yaml v1", "c/widgets.yaml v1", "d/widgets.yaml v1", "e/widgets.yaml v1"}, head: []string{"a/widgets.yaml v1", "b/widgets.yaml v1", "c/widgets.yaml v1", "d/widgets.yaml v1"},
		want: []string{": a/widgets v1 → a/widgets v1"}, found: []string{"CRDLeavesFolder other copies stay at a, b, c and 1 more"},
	},
	"a copy goes that nobody applies":            {base: []string{"crd/widgets.yaml v1", "old/widgets.yaml v1"}, head: []string{"crd/widgets.yaml v1"}, denied: "old/widgets.yaml", want: []string{": crd/widgets v1 → crd/widgets v1"}},
	"a copy goes from a folder that has another": {base: []string{"crd/widgets.yaml v1", "crd/widgets-old.yaml v0"}, head: []string{"crd/widgets.yaml v1"}, want: []string{": crd/widgets v1 → crd/widgets v1"}},
}

func TestEachCopyOfACRDIsComparedOnce(t *testing.T) {
	for name, c := range spreadCases {
		t.Run(name, func(t *testing.T) {
			whole, all := preview.Pair{}, preview.Pair{Base: files(c.base...), Head: files(c.head...)}
			whole.Base, whole.Head = files(c.applied[0]...), files(c.applied[1]...)
			pairs := preview.Spread(whole, all, func(file string) bool { return file != c.denied })
			expectPairs(t, pairs, c.want, c.found)
		})
	}
}

func expectPairs(t *testing.T, pairs []preview.Pair, want, found []string) {
	t.Helper()
	g := NewWithT(t)
	var got []string
	for _, p := range pairs {
		got = append(got, fmt.Sprintf("%s: %s → %s", p.Name, inShort(p.Base), inShort(p.Head)))
	}
	g.Expect(got).To(Equal(want))
	g.Expect(pairs[0].Head.Findings).To(HaveLen(len(found)))
	for i, f := range pairs[0].Head.Findings {
		rule, why, _ := strings.Cut(found[i], " ")
		g.Expect(f).To(And(HaveField("Rule", rule), HaveField("Why", ContainSubstring(why)), HaveField("CRD", widgets), HaveField("Object", widgets)))
	}
}

// What a tool applies is compared as it is applied, and is not spoken of a second time.
func TestACopyThatAToolAppliedIsNotSaidToLeaveItsFolder(t *testing.T) {
	for name, c := range map[string]struct {
		applied string
		found   []string
	}{
		"a tool applied it":       {"crd/widgets.yaml v1", nil},
		"a tool applied another":  {"crd/gadgets.yaml v1", []string{"CRDLeavesFolder old"}},
		"it is known, by no tool": {"", []string{"CRDLeavesFolder old"}},
	} {
		t.Run(name, func(t *testing.T) {
			var whole preview.Pair
			if c.applied != "" {
				whole.Base, whole.Head = files(c.applied), files(c.applied)
				whole.Base.Units[0].Tool = delivery.Flux
			} else {
				whole.Base, whole.Head = files("crd/widgets.yaml v1"), files("crd/widgets.yaml v1")
			}
			all := preview.Pair{Base: files("crd/widgets.yaml v1", "old/widgets.yaml v1"), Head: files("crd/widgets.yaml v1")}
			pairs := preview.Spread(whole, all, func(string) bool { return true })
			expectFound(t, pairs[0].Head.Findings, c.found)
		})
	}
}

func expectFound(t *testing.T, findings []finding.Finding, want []string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(findings).To(HaveLen(len(want)))
	for i, f := range findings {
		rule, why, _ := strings.Cut(want[i], " ")
		g.Expect(f).To(And(HaveField("Rule", rule), HaveField("Why", ContainSubstring(why))))
	}
}

// A manifest that is no CRD after all may hide one, and a patch of one is seen where it is built in.
func TestAManifestThatCannotBeReadIsUnseen(t *testing.T) {
	g := NewWithT(t)
	broken, patch := manifest("crd/widgets.yaml", "widgets"), manifest("crd/patch.yaml", "widgets", "v1")
	delete(patch.Object, "spec")
	all := delivery.Cluster{Units: []*delivery.Unit{{Name: "crd", Objects: []*delivery.Object{broken, patch}}}, Unseen: []delivery.Unseen{{Name: "a chart"}}}
	pairs := preview.Spread(preview.Pair{}, preview.Pair{Head: all}, func(string) bool { return true })
	g.Expect(pairs).To(HaveLen(1))
	g.Expect(inShort(pairs[0].Head)).To(BeEmpty())
	g.Expect(pairs[0].Head.Unseen).To(HaveExactElements(HaveField("Name", "a chart"),
		And(HaveField("Name", "crd/widgets.yaml"), HaveField("Why", ContainSubstring("spec.versions is empty")), HaveField("Fingerprint", Not(BeEmpty())))))
}

// brought is what a chart brings: "charts/one one default widgets" is the folder, the chart, how, and the CRD.
func brought(t *testing.T, all ...string) []delivery.InChart {
	t.Helper()
	how := map[string]delivery.Brought{"install": delivery.AtInstall, "asked": delivery.IfAsked, "default": delivery.ByDefault, "kept": delivery.ByDefault}
	found := make([]delivery.InChart, len(all))
	for i, one := range all {
		words := strings.Fields(one)
		NewWithT(t).Expect(words).To(HaveLen(4))
		NewWithT(t).Expect(slices.Collect(maps.Keys(how))).To(ContainElement(words[2]))
		found[i] = delivery.InChart{Dir: words[0], Chart: strings.Trim(words[1], "-"), How: how[words[2]], CRD: manifest(words[0]+"/crd.yaml", words[3], "v1")}
		if words[2] == "kept" {
			found[i].CRD.SetAnnotations(map[string]string{"helm.sh/resource-policy": "keep"})
		}
	}
	return found
}

func TestAChartThatBringsACRDToFewerIsFound(t *testing.T) {
	const (
		deletes = "CRDLeavesChart the templates of the chart charts/one make the CRD no longer, so Helm deletes it"
		asks    = "CRDLeavesChart the chart charts/one no longer makes the CRD of its own values"
		stays   = "CRDLeavesFolder the chart charts/one no longer has the CRD, and another copy stays at crd"
	)
	for name, c := range map[string]struct {
		base, head []string
		stays      string
		found      []string
	}{
		"it brings it as before":                  {base: []string{"charts/one one default widgets"}, head: []string{"charts/one one default widgets"}},
		"it makes it no longer":                   {base: []string{"charts/one one default widgets"}, found: []string{deletes}},
		"it makes it no longer, nor does another": {base: []string{"charts/one one default widgets"}, stays: "crd/gadgets.yaml v1"},
		"it makes it only if asked":               {base: []string{"charts/one one default widgets"}, head: []string{"charts/one one asked widgets"}, found: []string{asks}},
		"it made it if asked, and does by itself": {base: []string{"charts/one one asked widgets"}, head: []string{"charts/one one default widgets"}},
		"it made it if asked":                     {base: []string{"charts/one one asked widgets"}, found: []string{deletes}},
		"it had it in crds/":                      {base: []string{"charts/one one install widgets"}, found: []string{stays}},
		"it made it, and has it in crds/":         {base: []string{"charts/one one default widgets"}, head: []string{"charts/one one install widgets"}, found: []string{deletes}},
		"it made one that Helm keeps":             {base: []string{"charts/one one kept widgets"}, found: []string{stays}},
		"it had it in crds/, and made it, too":    {base: []string{"charts/one one install widgets", "charts/one one default widgets"}, head: []string{"charts/one one install widgets"}, found: []string{deletes}},
		"it made it, and had it in crds/, too":    {base: []string{"charts/one one default widgets", "charts/one one install widgets"}, head: []string{"charts/one one install widgets"}, found: []string{deletes}},
		"it made it, and had it in crds/":         {base: []string{"charts/one one default widgets", "charts/one one install widgets"}, found: []string{deletes}},
		"two charts make it no longer":            {base: []string{"charts/one one default widgets", "charts/two two asked widgets"}, found: []string{deletes, "CRDLeavesChart charts/two"}},
		"it makes another one":                    {base: []string{"charts/one one default widgets"}, head: []string{"charts/one one default gadgets"}, found: []string{deletes}},
		"it makes one of two no longer":           {base: []string{"charts/one one default gadgets", "charts/one one default widgets"}, head: []string{"charts/one one default gadgets"}, found: []string{deletes}},
		"another chart makes it":                  {base: []string{"charts/one one default widgets"}, head: []string{"charts/two two default widgets"}, found: []string{deletes}},
		"one of two charts makes it no longer":    {base: []string{"charts/one one default widgets", "charts/two two default widgets"}, head: []string{"charts/two two default widgets"}, found: []string{deletes}},
		"its folder is renamed":                   {base: []string{"charts/one one default widgets"}, head: []string{"charts/two one default widgets"}},
		"its folder is copied, and it is out":     {base: []string{"charts/one one default widgets"}, head: []string{"charts/two one default widgets", "charts/one one asked widgets"}, found: []string{asks}},
		"one of its name was there before":        {base: []string{"charts/one one default widgets", "charts/two one default gadgets"}, head: []string{"charts/two one default widgets"}, found: []string{deletes}},
		"a chart without a name, in a new folder": {base: []string{"charts/one - default widgets"}, head: []string{"charts/two - default widgets"}, found: []string{deletes}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.stays == "" {
				c.stays = "crd/widgets.yaml v1"
			}
			all := preview.Pair{Base: files("crd/gadgets.yaml v1", "crd/widgets.yaml v1"), Head: files(c.stays)}
			all.Base.InCharts, all.Head.InCharts = brought(t, c.base...), brought(t, c.head...)
			pairs := preview.Spread(preview.Pair{}, all, func(string) bool { return true })
			expectFound(t, pairs[0].Head.Findings, c.found)
		})
	}
}

// What a chart brings leaves the chart, which is more than that it leaves a folder.
func TestACopyInAChartLeavesTheChart(t *testing.T) {
	for name, c := range map[string]struct {
		dir, crd string
		found    []string
	}{
		"in the chart":          {"charts/one", "widgets", []string{"CRDLeavesChart charts/one"}},
		"in the repository":     {".", "widgets", []string{"CRDLeavesChart ."}},
		"in a folder beside it": {"charts/on", "widgets", []string{"CRDLeavesFolder charts/one/templates", "CRDLeavesChart charts/on"}},
		"of a chart of another": {"charts/one", "gadgets", []string{"CRDLeavesFolder charts/one/templates"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := preview.Pair{Base: files("crd/widgets.yaml v1", "charts/one/templates/widgets.yaml v1"), Head: files("crd/widgets.yaml v1")}
			all.Base.InCharts = brought(t, c.dir+" one default "+c.crd)
			pairs := preview.Spread(preview.Pair{}, all, func(string) bool { return true })
			expectFound(t, pairs[0].Head.Findings, c.found)
		})
	}
}

// With Helm, the CRDs of a chart that are replaced at an installation arrive only with a release that is new.
func TestAReleaseInstallsCRDsWhenItComes(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		want   string
	}{
		"the release comes":       {"HelmRelease apps/other", "HelmRelease apps/redis/gadgets v1, HelmRelease apps/redis/widgets v1"},
		"the release is upgraded": {"HelmRelease apps/redis", "HelmRelease apps/redis/gadgets v1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			release := &delivery.Unit{Name: "HelmRelease apps/redis", Objects: []*delivery.Object{manifest("", "gadgets", "v1")}, Installed: []*delivery.Object{manifest("", "widgets", "v1")}}
			p := preview.Pair{Base: delivery.Cluster{Units: []*delivery.Unit{{Name: c.before}}}, Head: delivery.Cluster{Units: []*delivery.Unit{{Name: "apps"}, release}}}
			p.Install()
			g.Expect(inShort(p.Head)).To(Equal(c.want))
			g.Expect(release.Kept).To(HaveLen(len(release.Objects)-1), "what comes from crds/ is not deleted")
		})
	}
}
