package crdschema_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/crdschema"
)

func TestUsage(t *testing.T) {
	g := NewWithT(t)
	v, err := crdschema.VersionOf(crd(t, spec(`a: {type: string}, b: {type: string, default: x},
		l: {type: array, items: {type: object, properties: {c: {type: string}}}},
		named: {type: object, additionalProperties: {type: object, properties: {old: {type: string}}}},
		o: {type: object, default: {}, properties: {d: {type: string, default: q}, e: {type: string}}},
		free: {type: object, x-kubernetes-preserve-unknown-fields: true}`), spec("a: {type: string}")), "v1alpha1")
	g.Expect(err).NotTo(HaveOccurred())
	usage := crdschema.NewUsage(v)
	for name, text := range map[string]string{
		"one":   "{metadata: {name: one}, spec: {a: x, b: x, l: [{c: x}, {c: y}], o: {d: q}}}",
		"two":   "{spec: {b: y, named: {k.l: {old: x}}, o: {d: q, e: z}, free: {deep: {er: x}}}}",
		"three": "{spec: {b: x, o: {d: q}}}",
	} {
		object := map[string]any{}
		g.Expect(yaml.Unmarshal([]byte(text), &object)).To(Succeed())
		usage.Add(object, name)
	}
	counts := map[string]int64{}
	for _, used := range usage.Fields() {
		counts[used.Field] = used.Objects
	}
	g.Expect(counts).To(Equal(map[string]int64{
		"spec": 3, "spec.a": 1, "spec.b": 1, "spec.l": 1, "spec.l[*].c": 1, "spec.named": 1, "spec.named.*": 1, "spec.named.*.old": 1,
		"spec.o": 1, "spec.o.e": 1, "spec.free": 1, "spec.free.*": 1,
	}))
	for field, want := range map[string]int64{"spec.a": 1, "spec.x": 0, "spec.free.any": 1, "spec.free.any.deeper": 1, "spec.named.*.old": 1} {
		objects, _ := crdschema.Uses(usage.Fields(), field)
		g.Expect(objects).To(Equal(want), field)
	}
	_, named := crdschema.Uses(usage.Fields(), "spec.a")
	g.Expect(named).To(Equal([]string{"one"}))
}

// An item that is dropped from a list is not there again by a default.
func TestAnItemOfAListIsNoDefault(t *testing.T) {
	g := NewWithT(t)
	v, err := crdschema.VersionOf(crd(t, spec(`list: {type: array, default: [a], items: {type: string}}`), spec(``)), "v1alpha1")
	g.Expect(err).NotTo(HaveOccurred())
	object := map[string]any{"spec": map[string]any{"list": []any{"a", "b"}}}
	g.Expect(v.IsDefault(object, crdschema.Path{"spec", "list", 1})).To(BeFalse())
	g.Expect(v.IsDefault(map[string]any{"spec": map[string]any{}}, crdschema.Path{"spec", "list", 0})).To(BeTrue(), "it is one of the default's")
}
