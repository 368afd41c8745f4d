package deprecation

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/finding"
)

func TestSampleInvalid(t *testing.T) {
	const spec = "v1 required: [size], properties: {size: {type: integer, maximum: 3}, mode: {type: string, default: fast}, limit: {type: integer, default: 1}}, x-kubernetes-validations: [{rule: self.limit <= self.size, message: the limit is too high}]"
	widget := func(version string, spec map[string]any) map[string]any {
		return map[string]any{"apiVersion": "example.com/" + version, "kind": "Widget", "metadata": map[string]any{"name": "a"}, "spec": spec}
	}
	for name, c := range map[string]struct {
		sample Sample
		want   finding.Severity
		says   string
	}{
		"it is taken":                     {Sample{Object: widget("v1", map[string]any{"size": int64(2)})}, "", ""},
		"a null is no field":              {Sample{Object: widget("v1", map[string]any{"size": int64(2), "colour": nil})}, "", ""},
		"another kind":                    {Sample{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget"}}, "", ""},
		"another group":                   {Sample{Object: map[string]any{"apiVersion": "example.org/v9", "kind": "Widget"}}, "", ""},
		"a version that is not served":    {Sample{Object: widget("v1beta1", nil)}, finding.Error, "written at v1beta1, which this release does not serve"},
		"a version that is not there":     {Sample{Object: widget("v1alpha1", nil), Fragment: true}, finding.Error, "written at v1alpha1"},
		"a field that is unknown":         {Sample{Object: widget("v1", map[string]any{"size": int64(2), "colour": "red"})}, finding.Warning, "v1 does not have 1 field, which the API server drops: spec.colour"},
		"a field too many in a fragment":  {Sample{Object: widget("v1", map[string]any{"colour": "red"}), Fragment: true}, finding.Warning, "spec.colour"},
		"a value that is too large":       {Sample{Object: widget("v1", map[string]any{"size": int64(4)})}, finding.Warning, "the API server refuses it: spec.size"},
		"a value of another type":         {Sample{Object: widget("v1", map[string]any{"size": "two"})}, finding.Warning, "spec.size in body must be of type integer"},
		"a field that is missing":         {Sample{Object: widget("v1", map[string]any{})}, finding.Warning, "spec.size: Required value"},
		"a field missing in a fragment":   {Sample{Object: widget("v1", map[string]any{}), Fragment: true}, "", ""},
		"a rule that a default breaks":    {Sample{Object: widget("v1", map[string]any{"size": int64(0)})}, finding.Warning, "the limit is too high"},
		"a rule, and a field that is not": {Sample{Object: widget("v1", map[string]any{"size": int64(0), "a": "b"})}, finding.Warning, "spec.a; the API server refuses it: "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			crd := widgets("(v1beta1) v1*", spec)
			in := Input{Releases: of2(crd, crd), Policy: DefaultPolicy()}
			c.sample.Place = finding.Place{File: "README.md", Line: 7}
			in.Releases[1].Samples = []Sample{c.sample}
			found := Judge(in).Findings
			if c.want == "" {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(ConsistOf(And(HaveField("Rule", SampleInvalid), HaveField("Severity", c.want), HaveField("Place", c.sample.Place), HaveField("Why", ContainSubstring(c.says)))))
		})
	}
}
