package preview_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/manifests"
	"github.com/moult-dev/moult/policies/preview"
)

// namesOf are the CRDs of a side, each with how many versions it has.
func namesOf(s preview.Side) []string {
	var names []string
	for _, crd := range s.CRDs {
		names = append(names, fmt.Sprintf("%s %d", crd.Name, len(crd.Spec.Versions)))
	}
	return names
}

func TestASideHasEachCRDOnce(t *testing.T) {
	g := NewWithT(t)
	cluster := files("b/widgets.yaml v1", "a/gadgets.yaml v1", "c/widgets.yaml v0 v1")
	cluster.Units[0].Objects[0].Object["foo"] = "bar"
	cluster.Units[2].Objects[0].Object["baz"] = "bar"
	side := preview.SideOf(cluster, nil)
	g.Expect(namesOf(side)).To(Equal([]string{"gadgets.example.com 1", "widgets.example.com 2"}), "of two, the later one")
	g.Expect(side.Undeclared[widgets]).To(Equal([]string{"baz"}))
}

// One CRD that cannot be read leaves the others to be compared.
func TestACRDThatCannotBeReadIsUnseen(t *testing.T) {
	for name, c := range map[string]struct {
		file, want string
	}{
		"it is in a file":        {"crd/widgets.yaml", "crd/widgets.yaml"},
		"its place is not known": {"", "CustomResourceDefinition widgets.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			good := preview.SideOf(files("crds/widgets.yaml v1", "others/gadgets.yaml v1"), nil)
			bad := files("others/gadgets.yaml v1")
			bad.Units = append(bad.Units, &delivery.Unit{Objects: []*delivery.Object{manifest(c.file, "widgets")}})
			side := preview.SideOf(bad, nil)
			g.Expect(namesOf(side)).To(Equal([]string{"gadgets.example.com 1"}))
			g.Expect(side.Cluster.Unseen).To(HaveExactElements(And(
				HaveField("Name", c.want), HaveField("Why", "CustomResourceDefinition widgets.example.com: spec.versions is empty; a CRD has at least one version"),
			)))
			g.Expect(namesOf(preview.Compare("one", good, side).Base)).To(Equal([]string{"gadgets.example.com 1"}), "it does not leave")
		})
	}
}

// What a suspended unit says of a CRD need not have reached the cluster.
func TestACRDThatIsResumedIsAsIfItWereNew(t *testing.T) {
	for name, c := range map[string]struct {
		before, after bool
		want          []string
	}{
		"it is not suspended":         {want: []string{"gadgets.example.com 1", "widgets.example.com 1"}},
		"it is suspended from now on": {after: true, want: []string{"gadgets.example.com 1", "widgets.example.com 1"}},
		"it stays suspended":          {before: true, after: true, want: []string{"gadgets.example.com 1", "widgets.example.com 1"}},
		"it is resumed":               {before: true, want: []string{"gadgets.example.com 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			base, head := files("crds/widgets.yaml v1", "others/gadgets.yaml v1"), files("crds/widgets.yaml v1", "others/gadgets.yaml v1")
			base.Units[0].Suspended, head.Units[0].Suspended = c.before, c.after
			head.Findings = []finding.Finding{{Rule: "Some"}}
			d := preview.Compare("one", preview.SideOf(base, nil), preview.SideOf(head, nil))
			g.Expect(namesOf(d.Base)).To(Equal(c.want))
			g.Expect(namesOf(d.Head)).To(HaveLen(2))
			g.Expect(d.Findings).To(HaveExactElements(And(HaveField("Rule", "Some"), HaveField("Cluster", "one"))))
			g.Expect(head.Findings[0].Cluster).To(BeEmpty(), "the caller's are the caller's")
		})
	}
}

// Of a unit that could not be built before the change, it is not known what changes. What fails alike before and after
// is no fault of the change.
func TestAUnitThatCannotBeBuiltIsSaidOnce(t *testing.T) {
	const before, now, never = "BaseNotBuilt: crds cannot be built before this change, so", "BuildFailed: ", "NeitherBuilt: crds cannot be built here, before this change or after it, so"
	for name, c := range map[string]struct {
		base, head string // why, empty if it can be built
		madeOf     string
		renamed    bool
		want       []string
	}{
		"both are built":             {},
		"the head is not built":      {head: "no network", want: []string{now}},
		"the base is not built":      {base: "no network", want: []string{before}},
		"neither is, alike":          {base: "no network", head: "no network", want: []string{never}},
		"neither is, of the same":    {base: "no network", head: "no network", madeOf: "it", want: []string{"NeitherBuilt: crds cannot be built here, and nothing that it is made of changes:"}},
		"neither is, for two faults": {base: "no network", head: "no file", want: []string{now, before}},
		"it is another unit":         {base: "no network", head: "no network", renamed: true, want: []string{now, before}},
	} {
		t.Run(name, func(t *testing.T) {
			unit := func(why string) *delivery.Unit {
				u := &delivery.Unit{Name: "crds", Failure: why, MadeOf: c.madeOf}
				if why != "" {
					u.Err = errors.New("in a\n  temporary folder: " + why)
				}
				return u
			}
			was, is := unit(c.base), unit(c.head)
			if c.renamed {
				is.Name = "others"
			}
			head := delivery.Cluster{Units: []*delivery.Unit{is}}
			if is.Err != nil {
				head.Findings = []finding.Finding{{Rule: delivery.BuildFailed, Severity: finding.Error, Why: is.WhyNotBuilt()}}
			}
			d := preview.Compare("one", preview.Side{Cluster: delivery.Cluster{Units: []*delivery.Unit{was}}}, preview.Side{Cluster: head})
			g := NewWithT(t)
			g.Expect(d.Findings).To(HaveLen(len(c.want)))
			for i, f := range d.Findings {
				g.Expect(f.Rule + ": " + f.Why).To(HavePrefix(c.want[i]))
				if f.Rule != delivery.BuildFailed {
					g.Expect(f.Why).To(HaveSuffix("in a temporary folder: "+c.base), "in one line")
				}
			}
		})
	}
}

// A version that a cluster loses, or stops serving, is one at which no manifest may be written any more.
func TestManifestsAreSearchedForTheVersionsThatAnyClusterLoses(t *testing.T) {
	unserved := crd("v1alpha1", "v1beta1", "v1")
	unserved.Spec.Versions[1].Served = false
	unstored := crd("v1")
	unstored.Spec.Versions[0].Storage = false
	kind := manifests.GroupKind{Group: "example.com", Kind: "Widget"}
	all := []manifests.File{{Name: "widgets.yaml", Content: []byte("")}}
	for _, v := range []string{"v1alpha1", "v1beta1", "v1"} {
		all[0].Content = append(all[0].Content, "---\napiVersion: example.com/"+v+"\nkind: Widget\nmetadata: {name: "+v+"}\n"...)
	}
	for name, c := range map[string]struct {
		clusters []preview.Delivered
		want     []string
	}{
		"nothing leaves":                     {clusters: []preview.Delivered{{Base: crds(crd("v1alpha1", "v1")), Head: crds(crd("v1alpha1", "v1"))}}},
		"the CRD is new":                     {clusters: []preview.Delivered{{Head: crds(crd("v1"))}}},
		"one leaves":                         {clusters: []preview.Delivered{{Base: crds(crd("v1alpha1", "v1")), Head: crds(crd("v1"))}}, want: []string{"v1alpha1"}},
		"one is no longer served":            {clusters: []preview.Delivered{{Base: crds(crd("v1alpha1", "v1beta1", "v1")), Head: crds(unserved)}}, want: []string{"v1beta1"}},
		"two clusters, each loses its own":   {clusters: []preview.Delivered{{Base: crds(crd("v1alpha1", "v1")), Head: crds(crd("v1"))}, {Base: crds(crd("v1beta1", "v1")), Head: crds(crd("v1"))}}, want: []string{"v1alpha1", "v1beta1"}},
		"the head stores at none":            {clusters: []preview.Delivered{{Base: crds(crd("v1alpha1", "v1")), Head: crds(unstored)}}},
		"one of them cannot be, another can": {clusters: []preview.Delivered{{Base: crds(crd("v1alpha1", "v1")), Head: crds(unstored)}, {Base: crds(crd("v1beta1", "v1")), Head: crds(crd("v1"))}}, want: []string{"v1beta1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plan, leaving := preview.Leaving(c.clusters)
			g.Expect(leaving[kind]).To(Equal(c.want))
			if c.want == nil {
				g.Expect(plan).To(BeEmpty())
			}
			var found []string
			for _, reference := range preview.LeftBehind(all, plan, leaving) {
				found = append(found, reference.Version)
			}
			slices.Sort(found)
			g.Expect(found).To(Equal(c.want))
		})
	}
}
