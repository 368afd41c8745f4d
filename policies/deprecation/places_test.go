package deprecation

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/finding"
)

func TestPlacesDiffer(t *testing.T) {
	edited := func(edit func(*definition)) *definition {
		crd := widgets("v1beta1 v1*")
		edit(crd)
		return crd
	}
	for name, c := range map[string]struct {
		copy *definition
		want string
	}{
		"it is the same": {widgets("v1beta1 v1*"), ""},
		"labels, annotations, descriptions and where the webhook is": {edited(func(crd *definition) {
			crd.Labels, crd.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "something"
		}), ""},
		"a version is missing":              {widgets("v1*"), "lacks v1beta1"},
		"a version more":                    {widgets("v1alpha1 v1beta1 v1*"), "has v1alpha1 more"},
		"another one is stored":             {widgets("v1beta1* v1"), "stores at v1beta1 and not at v1"},
		"one is not served, and deprecated": {widgets("(~v1beta1) v1*"), "does not serve v1beta1, calls v1beta1 deprecated"},
		"it has no webhook's way":           {edited(func(crd *definition) { crd.Spec.Conversion = webhook() }), "converts with a webhook"},
		"its schema":                        {widgets("v1beta1 v1*", "v1 properties: {size: {type: string}, colour: {type: string}}"), "has another schema at 2 fields: v1 spec.size, v1 spec.colour"},
		"its short names":                   {edited(func(crd *definition) { crd.Spec.Names.ShortNames = []string{"w"} }), "has ShortNamesAdded"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := Input{Releases: of2(nil, widgets("v1beta1 v1*")), Policy: DefaultPolicy()}
			in.Releases[0].CRDs = []*definition{widgets("v1beta1 v1*")}
			last := &in.Releases[1]
			last.Places = map[string]finding.Place{"widgets.example.com": {File: "config/crd/widgets.yaml"}}
			last.Copies = []Copy{{c.copy, finding.Place{File: "charts/widgets/crds/widgets.yaml"}}}
			in.Releases[0].Copies = []Copy{{widgets("v9*"), finding.Place{File: "old.yaml"}}}
			found := Judge(in).Findings
			if c.want == "" {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(HaveLen(1))
			g.Expect(found[0]).To(And(HaveField("Rule", PlacesDiffer), HaveField("Severity", finding.Warning), HaveField("Place.File", "charts/widgets/crds/widgets.yaml"), HaveField("To", "v1.1.0"),
				HaveField("Why", ContainSubstring("config/crd/widgets.yaml: it "+c.want+"; "))))
		})
	}
}

// A CRD that the release before did not have is looked at, too.
func TestPlacesOfANewCRDDiffer(t *testing.T) {
	in := Input{Releases: of2(nil, widgets("v1*")), Policy: DefaultPolicy()}
	in.Releases[1].Copies = []Copy{{CRD: widgets("v1 v2*")}}
	NewWithT(t).Expect(Judge(in).Findings).To(ConsistOf(HaveField("Rule", PlacesDiffer)))
}

func webhook() *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}}}
}

func TestChartAheadOfImage(t *testing.T) {
	for name, c := range map[string]struct {
		image, chart *definition
		want         []string
	}{
		"the image has the same":                    {widgets("v1beta1 v1*"), widgets("v1beta1 v1*"), nil},
		"the image has more":                        {widgets("v1beta1 v1*"), widgets("v1*"), nil},
		"the chart serves one that is new":          {widgets("v1beta1*"), widgets("v1beta1* v1"), []string{"serves v1, and the image of v0.9.0, "}},
		"the chart stores at one that is new":       {widgets("v1beta1*"), widgets("v1beta1 v1*"), []string{"stores at v1, "}},
		"the chart has one that nobody can ask for": {widgets("v1beta1*"), widgets("v1beta1* (v1)"), nil},
		"the image has no such CRD":                 {nil, widgets("v1*"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := Input{Releases: of2(widgets("v1*"), widgets("v1*")), Policy: DefaultPolicy()}
			at := finding.Place{File: "charts/widgets/Chart.yaml"}
			in.Releases[1].Charts = []Chart{{Place: at, CRDs: []Copy{{CRD: c.chart}}, Image: releases(state{"v0.9.0", 0, c.image})[0]}}
			found := Judge(in).Findings
			g.Expect(found).To(HaveLen(len(c.want)))
			for i, want := range c.want {
				g.Expect(found[i]).To(And(HaveField("Rule", ChartAheadOfImage), HaveField("Severity", finding.Error), HaveField("Place", at), HaveField("Why", ContainSubstring(want))))
			}
		})
	}
}
