package preview_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/manifests"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
	"github.com/moult-dev/moult/policies/snapshot"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const widgets = "widgets.example.com"

// crd has these versions, all served, and stores at the last one. The label opts it in.
func crd(versions ...string) *apiextensionsv1.CustomResourceDefinition {
	c := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: widgets, Labels: map[string]string{v1alpha1.MigrateLabel: v1alpha1.MigrateLabelValue}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
		},
	}
	for i, name := range versions {
		c.Spec.Versions = append(c.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: i == len(versions)-1, Schema: schema("size"),
		})
	}
	return c
}

func schema(fields ...string) *apiextensionsv1.CustomResourceValidation {
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	for _, field := range fields {
		spec.Properties[field] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	return &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec},
	}}
}

func crds(all ...*apiextensionsv1.CustomResourceDefinition) preview.Side {
	return preview.Side{CRDs: all}
}

// proved is a cluster in which Moult has proved that the objects of a CRD are stored at the last of its versions. That
// is all that storedVersions names, and no object names another.
func proved(versions ...string) *snapshot.Snapshot {
	s := stored([]string{versions[len(versions)-1]}, versions...)
	s.CRDs[0].Conditions = append(s.CRDs[0].Conditions, snapshot.Condition{
		Type: v1alpha1.StorageMigrated, Status: "True", Reason: v1alpha1.ReasonMigrated, Ours: true,
		Message: "spec generation 1; 3 objects are stored at v1",
	})
	return s
}

// stored is a cluster about which nothing is proved.
func stored(storedVersions []string, versions ...string) *snapshot.Snapshot {
	c := snapshot.CRD{
		Name: widgets, UID: "1", Generation: 1, OptedIn: true, StoredVersions: storedVersions, Conversion: "None",
		Conditions: []snapshot.Condition{{Type: "Established", Status: "True"}},
		Objects:    &snapshot.Objects{Count: 3},
	}
	for i, name := range versions {
		c.Versions = append(c.Versions, snapshot.Version{Name: name, Served: true, Storage: i == len(versions)-1})
	}
	return &snapshot.Snapshot{
		APIVersion: snapshot.APIVersion, Kind: snapshot.Kind, Cluster: "one", TakenAt: noon, LabelKey: v1alpha1.MigrateLabel,
		FieldManager: v1alpha1.FieldManager, CRDs: []snapshot.CRD{c},
	}
}

func input(clusters ...preview.Delivered) preview.Input {
	return preview.Input{Base: "base", Head: "head", LabelKey: v1alpha1.MigrateLabel, Now: noon.Add(time.Hour), Clusters: clusters}
}

func TestTheVerdictOnAChangeInOneCluster(t *testing.T) {
	lostField := crd("v1alpha1", "v1")
	for i := range lostField.Spec.Versions {
		lostField.Spec.Versions[i].Schema = schema()
	}
	tightened := crd("v1")
	tightened.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"size"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "string"}},
	}
	empty := stored([]string{"v1"}, "v1alpha1", "v1")
	empty.CRDs[0].Objects.Count = 0
	absent := proved("v1")
	absent.CRDs = nil
	ahead := stored([]string{"v1alpha1", "v1"}, "v1alpha1", "v1beta1", "v1")
	for name, c := range map[string]struct {
		base, head preview.Side
		snapshot   *snapshot.Snapshot
		want       preview.Verdict
		reason     string
	}{
		"nothing changes": {base: crds(crd("v1")), head: crds(crd("v1")), want: preview.Safe},
		"a version comes": {base: crds(crd("v1")), head: crds(crd("v1beta1", "v1")), want: preview.Safe, reason: preview.ReasonNotRemoved},
		"a version leaves, and nobody knows the cluster":          {base: crds(crd("v1alpha1", "v1")), head: crds(crd("v1")), want: preview.Unknown, reason: preview.ReasonClusterUnknown},
		"a version leaves that objects may be stored at":          {base: crds(crd("v1alpha1", "v1")), head: crds(crd("v1")), snapshot: stored([]string{"v1alpha1", "v1"}, "v1alpha1", "v1"), want: preview.Unknown},
		"a version leaves a CRD that the cluster does not have":   {base: crds(crd("v1alpha1", "v1")), head: crds(crd("v1")), snapshot: absent, want: preview.Safe, reason: v1alpha1.ReasonNothingStored},
		"a release was skipped, so more leaves than Git shows":    {base: crds(crd("v1beta1", "v1")), head: crds(crd("v1beta1", "v1")), snapshot: ahead, want: preview.Safe},
		"a skipped version leaves with a change of something":     {base: crds(crd("v1")), head: crds(crd("v1beta1", "v1")), snapshot: ahead, want: preview.Unknown},
		"a field goes that is stored":                             {base: crds(crd("v1alpha1", "v1")), head: crds(lostField), want: preview.Blocked, reason: string(crddiff.FieldRemoved)},
		"a field goes, and there are no objects to lose it":       {base: crds(crd("v1alpha1", "v1")), head: crds(lostField), snapshot: empty, want: preview.Warned},
		"a field is required that was not":                        {base: crds(crd("v1")), head: crds(tightened), want: preview.Warned, reason: string(crddiff.FieldRequired)},
		"a field goes from a CRD that the cluster does not have":  {base: crds(crd("v1alpha1", "v1")), head: crds(lostField), snapshot: absent, want: preview.Safe},
		"the CRD goes, and nobody knows the cluster":              {base: crds(crd("v1")), want: preview.Unknown, reason: preview.ReasonClusterUnknown},
		"the CRD goes, and nobody says what applies the rest":     {base: crds(crd("v1")), snapshot: proved("v1"), want: preview.Unknown, reason: preview.ReasonUnseen},
		"the CRD goes, and there are no objects":                  {base: crds(crd("v1alpha1", "v1")), snapshot: empty, want: preview.Warned, reason: preview.ReasonGone},
		"the CRD is new, and nobody knows the cluster":            {head: crds(crd("v1")), want: preview.Unknown, reason: preview.ReasonClusterUnknown},
		"the CRD is new, and the cluster does not have it":        {head: crds(crd("v1")), snapshot: absent, want: preview.Safe, reason: preview.ReasonNew},
		"the storage moves in the commit that removes where from": {base: crds(crd("v1", "v1alpha1")), head: crds(crd("v1")), snapshot: stored([]string{"v1alpha1"}, "v1", "v1alpha1"), want: preview.Blocked},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := preview.Make(input(preview.Delivered{Name: "one", Base: c.base, Head: c.head, Snapshot: c.snapshot}))
			for i := range r.Findings { // what rollout says of CRDs that no tool applies is tested there
				g.Expect(r.Findings[i].CRD).NotTo(BeEmpty())
			}
			if len(r.CRDs) == 0 {
				g.Expect(c.want).To(Equal(preview.Safe))
				g.Expect(c.reason).To(BeEmpty())
				return
			}
			got := r.CRDs[0].Clusters[0]
			g.Expect(got.Verdict).To(Equal(c.want), "%+v", got)
			if c.reason != "" {
				g.Expect(got.Reason).To(Equal(c.reason))
			}
			g.Expect(r.Sentence).NotTo(BeEmpty())
		})
	}
}

// object is one of a unit's, with the line it stands at.
func object(line int, content map[string]any) *delivery.Object {
	return &delivery.Object{
		Unstructured: &unstructured.Unstructured{Object: content},
		At:           func(...string) finding.Place { return finding.Place{File: "apps/widget.yaml", Line: line} },
	}
}

func TestAManifestAtAVersionThatLeavesBlocksTheClusterThatGetsIt(t *testing.T) {
	g := NewWithT(t)
	at := func(version string) delivery.Cluster {
		return delivery.Cluster{Name: "one", Units: []*delivery.Unit{{Name: "apps", Objects: []*delivery.Object{object(3, map[string]any{
			"apiVersion": "example.com/" + version, "kind": "Widget", "metadata": map[string]any{"name": "rose", "namespace": "garden"},
		})}}}}
	}
	hit := func(file string, line int) manifests.Reference {
		return manifests.Reference{
			Place: finding.Place{File: file, Line: line}, GroupKind: manifests.GroupKind{Group: "example.com", Kind: "Widget"},
			Version: "v1alpha1", Namespace: "garden", Name: "rose",
		}
	}
	one := preview.Delivered{Name: "one", Base: crds(crd("v1alpha1", "v1")), Head: crds(crd("v1"))}
	one.Head.Cluster = at("v1alpha1")
	in := input(one)
	in.Manifests = []manifests.Reference{hit("apps/widget.yaml", 3), hit("docs/example.yaml", 1)}
	r := preview.Make(in)
	g.Expect(r.Verdict).To(Equal(preview.Blocked))
	g.Expect(r.Manifests).To(HaveLen(2))
	g.Expect(r.Manifests[0]).To(And(HaveField("CRD", widgets), HaveField("Object", "Widget garden/rose"), HaveField("Rewritable", true)))
	var told []string
	for _, f := range r.Findings {
		if f.Place.File != "" {
			told = append(told, f.Rule+" "+f.Place.String())
		}
	}
	g.Expect(told).To(ConsistOf("AppliedAtRemovedVersion apps/widget.yaml:3", "WrittenAtRemovedVersion docs/example.yaml:1"), "each place once")

	one.Head.Cluster = at("v1")
	r = preview.Make(input(one))
	g.Expect(r.Findings).NotTo(ContainElement(HaveField("Rule", preview.AppliedAtRemovedVersion)))
}

func TestTheSameChangeIsToldOnceForAllClusters(t *testing.T) {
	g := NewWithT(t)
	to := func(name string, head preview.Side) preview.Delivered {
		return preview.Delivered{Name: name, Base: crds(crd("v1alpha1", "v1")), Head: head}
	}
	r := preview.Make(input(to("one", crds(crd("v1"))), to("two", crds(crd("v1"))), to("three", crds(crd("v1alpha1", "v1beta1", "v1")))))
	g.Expect(r.CRDs).To(HaveLen(2))
	g.Expect(r.CRDs[0].Clusters).To(HaveLen(2))
	g.Expect(r.CRDs[1].Clusters).To(HaveExactElements(HaveField("Cluster", "three")))
	g.Expect(r.Verdict).To(Equal(preview.Unknown))
	g.Expect(r.Sentence).To(ContainSubstring("v1alpha1 of widgets.example.com in one, two"))
}

// Whatever is thrown together, a removal is called safe only where the cluster has been looked at and has nothing to
// lose. That it has nothing is not proved by storedVersions alone.
func TestNothingIsSafeThatIsNotProved(t *testing.T) {
	versions := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"v1alpha1", "v1beta1", "v1", "v2"}), 1, 4, rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		before, after := versions.Draw(t, "before"), versions.Draw(t, "after")
		d := preview.Delivered{Name: "one", Base: crds(crd(before...)), Head: crds(crd(after...))}
		loses := slices.ContainsFunc(before, func(v string) bool { return !slices.Contains(after, v) })
		if rapid.Bool().Draw(t, "looked at") {
			has := versions.Draw(t, "has")
			names := rapid.SliceOfN(rapid.SampledFrom(has), 1, 3).Draw(t, "stored")
			d.Snapshot = stored(names, has...)
			loses = slices.ContainsFunc(has, func(v string) bool { return !slices.Contains(after, v) })
		}
		r := preview.Make(input(d))
		if len(r.CRDs) > 0 && loses && (r.Verdict == preview.Safe || r.Verdict == preview.Warned) {
			t.Fatalf("%v → %v is %s: %s", before, after, r.Verdict, r.Sentence)
		}
	})
}

func TestACRDThatVanishesIsNeverSafe(t *testing.T) {
	by := func(source string) *delivery.Object {
		return object(1, map[string]any{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"name": "crds", "namespace": "flux-system"},
			"spec": map[string]any{"sourceRef": map[string]any{"kind": "GitRepository", "name": source}},
		})
	}
	unit := func(source, unseen string) delivery.Cluster {
		return delivery.Cluster{Name: "one", Units: []*delivery.Unit{{Name: "flux-system/crds", Tool: delivery.Flux, By: by(source), Unseen: unseen}}}
	}
	for name, c := range map[string]struct {
		unseen string
		want   preview.Verdict
		reason string
	}{
		"into what cannot be seen": {unseen: "it is elsewhere", want: preview.Unknown, reason: preview.ReasonUnseen},
		"from Git":                 {want: preview.Warned, reason: preview.ReasonGone},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := preview.Delivered{Name: "one", Base: crds(crd("v1alpha1", "v1")), Snapshot: stored([]string{"v1alpha1", "v1"}, "v1alpha1", "v1")}
			d.Base.Cluster, d.Head.Cluster = unit("here", ""), unit("elsewhere", c.unseen)
			r := preview.Make(input(d))
			g.Expect(r.CRDs[0].Clusters[0]).To(And(HaveField("Verdict", c.want), HaveField("Reason", c.reason)))
			g.Expect(r.CRDs[0].Clusters[0].Objects).To(HaveValue(BeEquivalentTo(3)), "how many there are to lose")
			g.Expect(r.Findings).To(ContainElement(And(HaveField("Rule", rollout.SourceMoved), HaveField("Place.Line", 1))))
		})
	}
}

func TestACRDIsCalledByItsPluralAndGroup(t *testing.T) {
	g := NewWithT(t)
	misspelt := crd("v1")
	misspelt.Name = "widgetz.example.com"
	r := preview.Make(input(preview.Delivered{Name: "one", Base: crds(crd("v1")), Head: crds(misspelt)}))
	g.Expect(r.Verdict).To(Equal(preview.Blocked))
	g.Expect(r.Findings).To(ContainElement(And(HaveField("Rule", preview.NameRefused), HaveField("Remediation", "call it widgets.example.com"))))
}

func TestEveryVerdictHasAnOrder(t *testing.T) {
	g := NewWithT(t)
	d := preview.Delivered{Name: "one", Base: crds(crd("v1alpha1", "v1")), Head: crds(crd("v1")), Snapshot: proved("v1alpha1", "v1")}
	in := input(d)
	in.Findings = []finding.Finding{{Rule: "Broken", Severity: finding.Error, Why: "it is broken"}}
	r := preview.Make(in)
	g.Expect(r.Verdict).To(Equal(preview.Blocked), "what the caller has found counts")
	g.Expect(ptr.Deref(r.Clusters[0].TakenAt, time.Time{})).To(Equal(noon))
}
