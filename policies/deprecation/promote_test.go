package deprecation

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/finding"
)

const (
	ripeSpec = "properties: {size: {type: integer, description: how large}}"
	fixture  = "test/fixtures/release-1.0/example.com.v1alpha1.Widget.yaml"
)

// ripe is a CRD of which everything about v1beta1 is shown.
func ripe(versions string, edits ...func(*definition)) *definition {
	crd := widgets(versions, "v1alpha1 "+ripeSpec, "v1beta1 "+ripeSpec)
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	}
	for _, edit := range edits {
		edit(crd)
	}
	return crd
}

func promoted(crd *definition) *apiextensionsv1.CustomResourceDefinitionVersion {
	return &crd.Spec.Versions[1]
}

func at(version string) Sample {
	return Sample{Place: finding.Place{File: "config/samples/widget.yaml"}, Object: map[string]any{"apiVersion": "example.com/" + version, "kind": "Widget"}}
}

func TestPromote(t *testing.T) {
	both := ripe("~v1alpha1* v1beta1")
	early := state{"v1.0.0", 0, ripe("~v1alpha1* v1beta1")}
	for name, c := range map[string]struct {
		releases []Release
		edit     func(*PromotionInput)
		// want is what is not shown, or not to be known beside what no repository shows, with a part of what was seen.
		want map[string]string
	}{
		"all is shown":                         {releases(early, state{"v1.1.0", 90, both}), nil, nil},
		"it is stored since the release after": {releases(early, state{"v1.1.0", 90, ripe("~v1alpha1 v1beta1*")}), nil, nil},
		"it is not served":                     {releases(early, state{"v1.1.0", 90, ripe("~v1alpha1* (v1beta1)")}), nil, map[string]string{"the version is served beside the one before": "does not serve v1beta1"}},
		"the one before is not served":         {releases(early, state{"v1.1.0", 90, ripe("(~v1alpha1*) v1beta1")}), nil, map[string]string{"the version is served beside the one before": "does not serve v1alpha1 any more"}},
		"it comes with the work tree": {releases(state{"v1.0.0", 0, ripe("~v1alpha1*")}, state{"next", 90, both}), nil, map[string]string{
			"a release serves it before one stores it": "no release serves v1alpha1 and v1beta1", "the fields have not changed incompatibly since its first release": "no release serves it yet",
		}},
		"it is stored as it comes":          {releases(state{"v1.0.0", 0, ripe("~v1alpha1*")}, state{"v1.1.0", 90, ripe("~v1alpha1 v1beta1*")}), nil, map[string]string{"a release serves it before one stores it": "v1.1.0 stores at v1beta1"}},
		"the first that was read stores it": {releases(state{"v1.0.0", 0, ripe("~v1alpha1 v1beta1*")}), func(in *PromotionInput) { in.Earlier = true }, map[string]string{"a release serves it before one stores it": "the first release that was read"}},
		"a field has changed": {releases(state{"v1.0.0", 0, ripe("~v1alpha1* v1beta1", func(crd *definition) {
			promoted(crd).Schema.OpenAPIV3Schema.Properties["spec"].Properties["size"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		})}, state{"v1.1.0", 90, both}), nil, map[string]string{"the fields have not changed incompatibly since its first release": "1 incompatible change since v1.0.0: spec.size in v1.1.0"}},
		"a field is missing": {releases(early, state{"v1.1.0", 90, ripe("~v1alpha1* v1beta1", func(crd *definition) {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["colour"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		})}), nil, map[string]string{"no field of the one before is missing": "v1beta1 lacks 1 field of v1alpha1, and nothing converts: spec.colour"}},
		"a field is missing, and a webhook converts": {releases(early, state{"v1.1.0", 90, ripe("~v1alpha1* v1beta1", func(crd *definition) {
			crd.Spec.Conversion = webhook()
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["colour"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		})}), nil, nil},
		"there are no fixtures": {releases(early), func(in *PromotionInput) { in.Files = []string{"release-1/example.com.v1alpha1.Gadget.yaml"} }, map[string]string{"round trips are tested": "release-*/example.com.v1alpha1.Widget.yaml"}},
		"no files are known":    {releases(early), func(in *PromotionInput) { in.Files = nil }, map[string]string{"round trips are tested": "not known", "samples are written at it": "not known"}},
		"a field is behind a gate": {releases(early, state{"v1.1.0", 90, ripe("~v1alpha1* v1beta1", func(crd *definition) {
			promoted(crd).Schema.OpenAPIV3Schema.Properties["spec"].Properties["size"] = apiextensionsv1.JSONSchemaProps{Type: "integer", Description: "needs the feature gate Sizes"}
		})}), nil, map[string]string{"no field is alpha or behind a feature gate": "spec.size"}},
		"nothing is described": {releases(early, state{"v1.1.0", 90, ripe("~v1alpha1* v1beta1", func(crd *definition) {
			promoted(crd).Schema.OpenAPIV3Schema.Properties["spec"].Properties["size"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
		})}), nil, map[string]string{"no field is alpha or behind a feature gate": "no field has a description"}},
		"status is no subresource": {releases(early, state{"v1.1.0", 90, ripe("~v1alpha1* v1beta1", func(crd *definition) { promoted(crd).Subresources = nil })}), nil, map[string]string{"status is a subresource": "together with spec"}},
		"a column is missing": {releases(early, state{"v1.1.0", 90, ripe("~v1alpha1* v1beta1", func(crd *definition) {
			crd.Spec.Versions[0].AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Size"}}
		})}), nil, map[string]string{"it has the printer columns of the one before": "v1beta1 lacks Size"}},
		"there is no sample":          {releases(early), func(in *PromotionInput) { in.Releases[0].Samples = nil }, map[string]string{"samples are written at it": "at v1beta1"}},
		"a sample is still at it":     {releases(early), func(in *PromotionInput) { in.Releases[0].Samples = []Sample{at("v1alpha1"), at("v1beta1")} }, map[string]string{"samples are written at it": "1 object still at v1alpha1"}},
		"the other is not deprecated": {releases(state{"v1.0.0", 0, ripe("v1alpha1* v1beta1")}), nil, map[string]string{"the one before is deprecated, with a warning": "no client is warned"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := PromotionInput{Releases: c.releases, Version: "v1beta1", Files: []string{fixture}}
			in.Releases[len(in.Releases)-1].Samples = []Sample{at("v1beta1")}
			if c.edit != nil {
				c.edit(&in)
			}
			all := Promote(in)
			g.Expect(all.CRDs).To(HaveLen(1))
			g.Expect(all.CRDs[0]).To(And(HaveField("From", "v1alpha1"), HaveField("To", "v1beta1"), HaveField("Criteria", HaveLen(len(criteria)))))
			ok := true
			for _, is := range all.CRDs[0].Criteria {
				g.Expect(is.Seen).NotTo(Or(BeEmpty(), HaveSuffix(".")), is.Name)
				g.Expect(is.Command).NotTo(Or(BeEmpty(), ContainSubstring("CRD"), ContainSubstring("VERSION")), is.Name)
				ok = ok && is.State != NotShown
				switch said, wanted := c.want[is.Name]; {
				case wanted:
					g.Expect(is.State).NotTo(Equal(Shown), is.Name)
					g.Expect(is.Seen).To(ContainSubstring(said))
				case is.Name == "objects were rehearsed" || is.Name == "there is a backup before the flip":
					g.Expect(is.State).To(Equal(NotKnown))
				default:
					g.Expect(is.State).To(Equal(Shown), is.Name+": "+is.Seen)
				}
			}
			g.Expect(all.OK).To(Equal(ok))
		})
	}
}

func TestWhichCRDsArePromoted(t *testing.T) {
	g := NewWithT(t)
	in := PromotionInput{Releases: releases(state{"v1.0.0", 0, widgets("v1*")}), Version: "v1"}
	g.Expect(Promote(in)).To(And(HaveField("CRDs", BeEmpty()), HaveField("Notes", ConsistOf("widgets.example.com was left out: it has no version older than v1"))))
	in.Version = "v2"
	g.Expect(Promote(in).CRDs).To(BeEmpty())
	in.Releases, in.Version = releases(state{"v1.0.0", 0, widgets("v1beta1 v1*")}), "v1"
	g.Expect(Promote(in).CRDs).To(HaveLen(1), "the other version that is served is the one before")
	in.Releases = of2(widgets("v1 v2*"), widgets("v1 v2*"))
	g.Expect(Promote(in).CRDs).To(BeEmpty(), "v2 is newer")
	in.Version = "v2"
	g.Expect(Promote(in).CRDs).To(ConsistOf(HaveField("From", "v1")))
	in.CRD = "gadgets.example.com"
	g.Expect(Promote(in).CRDs).To(BeEmpty())
}
