package preview_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
	"github.com/moult-dev/moult/policies/snapshot"
)

// gadgets is another CRD of the same group.
func gadgets(versions ...string) *apiextensionsv1.CustomResourceDefinition {
	c := crd(versions...)
	c.Name = "gadgets.example.com"
	c.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"}
	return c
}

func TestAReportIsOneSentence(t *testing.T) {
	absent := proved("v1")
	absent.CRDs = nil
	for name, c := range map[string]struct {
		base, head preview.Side
		snapshot   *snapshot.Snapshot
		want       string
	}{
		"nothing changes":          {crds(crd("v1")), crds(crd("v1")), nil, "no CRD changes"},
		"a version comes":          {crds(crd("v1")), crds(crd("v1beta1", "v1")), nil, "no version leaves, and nothing that is stored is lost"},
		"a version leaves, proved": {crds(crd("v1alpha1", "v1")), crds(crd("v1")), absent, "no object is stored at v1alpha1 of widgets.example.com"},
		"one of two loses one":     {crds(crd("v1alpha1", "v1"), gadgets("v1")), crds(crd("v1"), gadgets("v1beta1", "v1")), absent, "no object is stored at v1alpha1 of widgets.example.com"},
		"both lose one":            {crds(crd("v1alpha1", "v1"), gadgets("v1beta1", "v1")), crds(crd("v1"), gadgets("v1")), absent, "no object is stored at v1beta1 of gadgets.example.com or v1alpha1 of widgets.example.com"},
		"one of two is unknown":    {crds(crd("v1alpha1", "v1"), gadgets("v1")), crds(crd("v1"), gadgets("v1beta1", "v1")), nil, "v1alpha1 of widgets.example.com in one: what the cluster stores is not known: give the preview a snapshot of it, or its context"},
	} {
		t.Run(name, func(t *testing.T) {
			r := preview.Make(input(preview.Delivered{Name: "one", Base: c.base, Head: c.head, Snapshot: c.snapshot}))
			NewWithT(t).Expect(r.Sentence).To(Equal(c.want))
		})
	}
}

// An error in a CRD would stop the merge, so there is none where no cluster loses by it.
func TestAChangeIsAnErrorOnlyWhereSomethingIsLost(t *testing.T) {
	tightened := crd("v1")
	tightened.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"size"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "string"}},
	}
	lost := crd("v1")
	lost.Spec.Versions[0].Schema = schema()
	for name, c := range map[string]struct {
		head *apiextensionsv1.CustomResourceDefinition
		rule crddiff.Rule
		want finding.Severity
	}{
		"it asks for more":        {tightened, crddiff.FieldRequired, finding.Warning},
		"it loses a field":        {lost, crddiff.FieldRemoved, finding.Error},
		"it informs, and no more": {crd("v1beta1", "v1"), crddiff.VersionAdded, finding.Info},
	} {
		t.Run(name, func(t *testing.T) {
			r := preview.Make(input(preview.Delivered{Name: "one", Base: crds(crd("v1")), Head: crds(c.head), Snapshot: stored([]string{"v1"}, "v1")}))
			NewWithT(t).Expect(r.CRDs[0].Changes).To(ContainElement(And(HaveField("Rule", c.rule), HaveField("Severity", c.want))))
		})
	}
}

// Where a tool applied the CRD, it is known what becomes of it: rollout finds it if it is pruned.
func TestACRDThatAToolAppliedStaysInTheCluster(t *testing.T) {
	for name, c := range map[string]struct {
		tool delivery.Tool
		crd  string
		want string
	}{
		"Flux applied it":     {delivery.Flux, "widgets", preview.ReasonGone},
		"Flux applied others": {delivery.Flux, "gadgets", preview.ReasonClusterUnknown},
		"nobody says who did": {"", "widgets", preview.ReasonClusterUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			d := preview.Delivered{Name: "one", Base: crds(crd("v1"))}
			d.Base.Cluster = files("crds/" + c.crd + ".yaml v1")
			by := at("", map[string]any{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization"})
			d.Base.Cluster.Units[0].Tool, d.Base.Cluster.Units[0].By = c.tool, by
			d.Head.Cluster = delivery.Cluster{Units: []*delivery.Unit{{Name: "crds", Tool: delivery.Flux, By: by}}}
			r := preview.Make(input(d))
			NewWithT(t).Expect(r.CRDs[0].Clusters[0].Reason).To(Equal(c.want))
		})
	}
}

// Of what follows from a change, a finding about the changed file says it best.
func TestTheHeadlineIsAboutAFileThatChanges(t *testing.T) {
	of := func(file string) finding.Finding {
		return finding.Finding{Rule: rollout.UnseenChanged, Severity: finding.Warning, Place: finding.Place{File: file}, Why: file + " is not seen"}
	}
	NewWithT(t).Expect(preview.Make(preview.Input{Changed: []string{"b"}, Findings: []finding.Finding{of("a"), of("b")}}).Sentence).To(Equal("b is not seen"))
}
