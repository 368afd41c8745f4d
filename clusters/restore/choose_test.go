package restore

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/test/builders"
)

func TestTheCopyThatHasMostIsRestored(t *testing.T) {
	type spec map[string]any
	for name, c := range map[string]struct {
		old, now spec
		webhook  bool
		version  string
		left     []string
	}{
		"the storage version, if both have the same": {old: spec{"a": "1"}, now: spec{"a": "1"}, version: "v1"},
		"the old one, if only it has a field":        {old: spec{"a": "1", "old": "x"}, now: spec{"a": "1"}, version: "v1alpha1"},
		"the new one, if only it has a field":        {old: spec{"a": "1"}, now: spec{"a": "1", "new": "x"}, version: "v1"},
		"a default is no field":                      {old: spec{"a": "1", "preset": "x"}, now: spec{"a": "1"}, version: "v1"},
		"the storage version, if each has one, and the other's is told": {
			old: spec{"old": "x"}, now: spec{"new": "x"}, version: "v1", left: []string{"spec.old at v1alpha1"},
		},
		"the storage version, if a webhook converts": {old: spec{"old": "x"}, now: spec{}, webhook: true, version: "v1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			builder := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").
				Schema("v1alpha1", `{type: object, properties: {spec: {type: object, properties: {a: {type: string}, old: {type: string}, preset: {type: string, default: x}}}}}`).
				Schema("v1", `{type: object, properties: {spec: {type: object, properties: {a: {type: string}, new: {type: string}}}}}`)
			if c.webhook {
				builder.ConversionWebhook("https://localhost", nil)
			}
			target := targetOf(g, builder.Build(), builder.Build())
			g.Expect((&restorer{}).choose(target, []string{"v1", "v1alpha1"})).To(Succeed())
			chosen, err := target.pick(t.Context(), archive.Object{Copies: map[string][]byte{"v1alpha1": copyOf(g, "v1alpha1", c.old), "v1": copyOf(g, "v1", c.now)}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(chosen.version).To(Equal(c.version))
			g.Expect(chosen.left).To(Equal(c.left))
		})
	}
}

func targetOf(g Gomega, was, is *apiextensionsv1.CustomResourceDefinition) *target {
	t := &target{was: was, is: is}
	var err error
	t.then, err = schemasOf(was)
	g.Expect(err).NotTo(HaveOccurred())
	t.now, err = schemasOf(is)
	g.Expect(err).NotTo(HaveOccurred())
	return t
}

func copyOf(g Gomega, version string, spec map[string]any) []byte {
	content, err := json.Marshal(map[string]any{"apiVersion": "example.com/" + version, "kind": "Widget", "metadata": map[string]any{"name": "rose"}, "spec": spec})
	g.Expect(err).NotTo(HaveOccurred())
	return content
}

func TestAWebhooksCRDIsNotConvertedHere(t *testing.T) {
	g := NewWithT(t)
	was := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Unserved("v1").ConversionWebhook("https://localhost", nil).Build()
	is := builders.CRD("example.com", "widgets").Versions("v1").Build()
	target := targetOf(g, was, is)
	g.Expect((&restorer{}).choose(target, []string{"v1alpha1"})).To(Succeed())
	g.Expect(target.needed).To(ContainSubstring("A webhook converts them: name one that knows both with --webhook or --webhook-command, or give the converted objects with --converted. Or serve one of these"))
	g.Expect(target.convertTo).To(BeEmpty())
}
