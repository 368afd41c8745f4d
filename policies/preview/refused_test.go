package preview_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
)

// faulty is a CRD whose last version has fields that no API server takes, since they have a default of another type.
func faulty(fields int, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	c := crd(versions...)
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "string"}}}
	for i := range fields {
		spec.Properties[fmt.Sprintf("f%02d", i)] = apiextensionsv1.JSONSchemaProps{Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte(`"one"`)}}
	}
	last := &c.Spec.Versions[len(versions)-1]
	last.Schema.OpenAPIV3Schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}
	return c
}

func annotated(c *apiextensionsv1.CustomResourceDefinition, key, value string) *apiextensionsv1.CustomResourceDefinition {
	c.Annotations = map[string]string{key: value}
	return c
}

// undeclared is a side whose one CRD has a field in its manifest that no CRD has.
func undeclared(path string, c *apiextensionsv1.CustomResourceDefinition) preview.Side {
	side := crds(c)
	side.Undeclared = map[string][]string{c.Name: {path}}
	return side
}

// A change without any other fault is not safe if the API server refuses it.
func TestWhatTheAPIServerRefusesIsNeverSafe(t *testing.T) {
	empty := stored([]string{"v1"}, "v1")
	empty.CRDs = nil
	for name, c := range map[string]struct {
		d        preview.Delivered
		want     preview.Verdict
		refused  int
		severity finding.Severity
		rule     string
		why      string
	}{
		"a new CRD": {d: preview.Delivered{Head: crds(faulty(1, "v1")), Snapshot: empty}, want: preview.Blocked, refused: 1, severity: finding.Error, rule: preview.CRDRefused,
			why: "the API server refuses the CRD: `spec.validation.openAPIV3Schema.properties[spec].properties[f00].default`: Invalid value"},
		"a version of a CRD that is there": {d: preview.Delivered{Base: crds(crd("v1beta1", "v1")), Head: crds(faulty(1, "v1beta1", "v1"))}, want: preview.Blocked, refused: 1, severity: finding.Error, rule: preview.CRDRefused,
			why: "`spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[f00].default` (v1): "},
		"as many as are listed": {d: preview.Delivered{Base: crds(crd("v1")), Head: crds(faulty(10, "v1"))}, want: preview.Blocked, refused: 10, severity: finding.Error, rule: preview.CRDRefused},
		"more than anybody reads": {d: preview.Delivered{Base: crds(crd("v1")), Head: crds(faulty(30, "v1"))}, want: preview.Blocked, refused: 11, severity: finding.Error, rule: preview.CRDRefused,
			why: "the API server has 20 more objections to the CRD"},
		"a CRD that was so before": {d: preview.Delivered{Base: crds(faulty(1, "v1")), Head: crds(annotated(faulty(1, "v1"), "team", "blue"))}, want: preview.Warned, refused: 1, severity: finding.Warning, rule: preview.CRDRefusedBefore,
			why: "the CRD had this fault before the pull request, and a current API server refuses it: `spec.validation"},
		"a CRD that does not change": {d: preview.Delivered{Base: crds(faulty(1, "v1")), Head: crds(faulty(1, "v1"))}, want: preview.Safe},
		"nothing but a field that no CRD has": {d: preview.Delivered{Base: crds(crd("v1")), Head: undeclared("spec.versions[0].storag", crd("v1"))}, want: preview.Blocked, refused: 1, severity: finding.Error, rule: preview.CRDRefused,
			why: "the API server refuses the CRD: `spec.versions[0].storag` (v1): field not declared in schema"},
		"a field that no CRD has, as before": {d: preview.Delivered{Base: undeclared("spec.foo", crd("v1")), Head: undeclared("spec.foo", annotated(crd("v1"), "team", "blue"))}, want: preview.Warned, refused: 1, severity: finding.Warning, rule: preview.CRDRefusedBefore,
			why: "the CRD had this fault before the pull request, and a current API server refuses it: `spec.foo`: field not declared in schema"},
		"nothing but a finalizer, which is none": {d: preview.Delivered{Base: crds(crd("v1")), Head: crds(func() *apiextensionsv1.CustomResourceDefinition {
			c := crd("v1")
			c.Finalizers = []string{"foo bar"}
			return c
		}())}, want: preview.Blocked, refused: 1, severity: finding.Error, rule: preview.CRDRefused, why: "metadata.finalizers"},
		"nothing but a label, which is none": {d: preview.Delivered{Base: crds(crd("v1")), Head: crds(func() *apiextensionsv1.CustomResourceDefinition {
			c := crd("v1")
			c.Labels["team"] = "blue and red"
			return c
		}())}, want: preview.Blocked, refused: 1, severity: finding.Error, rule: preview.CRDRefused, why: "metadata.labels"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c.d.Name = "one"
			r := preview.Make(input(c.d))
			g.Expect(r.Verdict).To(Equal(c.want), r.Sentence)
			var said []string
			for _, f := range r.Findings {
				if f.Rule == preview.CRDRefused || f.Rule == preview.CRDRefusedBefore {
					said = append(said, f.Why)
					g.Expect(f).To(And(HaveField("Rule", c.rule), HaveField("Severity", c.severity), HaveField("CRD", widgets)))
				}
			}
			g.Expect(said).To(HaveLen(c.refused))
			if c.refused > 0 {
				g.Expect(said).To(ContainElement(ContainSubstring(c.why)))
			}
		})
	}
}

// It is said once for all clusters that get the same, and is asked once.
func TestARefusalIsReportedOnce(t *testing.T) {
	g := NewWithT(t)
	to := func(name string) preview.Delivered {
		return preview.Delivered{Name: name, Base: crds(crd("v1")), Head: crds(faulty(1, "v1"))}
	}
	r := preview.Make(input(to("one"), to("two")))
	g.Expect(r.Findings).To(ContainElement(And(HaveField("Rule", preview.CRDRefused), HaveField("Cluster", ""))))
	for _, in := range r.CRDs[0].Clusters {
		g.Expect(in.Verdict).To(Equal(preview.Blocked), in.Cluster)
	}
	r = preview.Make(input(to("one")))
	g.Expect(r.Findings).To(ContainElement(And(HaveField("Rule", preview.CRDRefused), HaveField("Cluster", "one"))), "of one cluster, it is that one's")
}
