package fieldloss_test

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/fieldloss"
	"github.com/moult-dev/moult/test/builders"
)

// crd has two versions with these schemas, the second of which is the storage version.
func crd(t *testing.T, old, storage string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(fmt.Sprintf(`
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: %s}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: %s}}
`, old, storage)), crd)).To(Succeed())
	return crd
}

func spec(properties string) string {
	return `{type: object, properties: {spec: {type: object, properties: {` + properties + `}}}}`
}

func TestFields(t *testing.T) {
	const named = `named: {type: object, additionalProperties: {type: object, properties: {name: {type: string}, old: {type: string}}}}`
	const namedNow = `named: {type: object, additionalProperties: {type: object, properties: {name: {type: string}}}}`
	for name, c := range map[string]struct {
		old, storage, object string
		lacking, lost        []string
	}{
		"a field that both have":            {spec("a: {type: string}"), spec("a: {type: string}"), "{spec: {a: x}}", nil, nil},
		"one that is used":                  {spec("a: {type: string}"), spec("b: {type: string}"), "{spec: {a: x}}", []string{"spec.a"}, []string{"spec.a"}},
		"one that is not":                   {spec("a: {type: string}"), spec("b: {type: string}"), "{spec: {}}", []string{"spec.a"}, nil},
		"one that has its default":          {spec("a: {type: string, default: x}"), spec("b: {type: string}"), "{spec: {a: x}}", []string{"spec.a"}, nil},
		"one that has another value":        {spec("a: {type: string, default: x}"), spec("b: {type: string}"), "{spec: {a: y}}", []string{"spec.a"}, []string{"spec.a"}},
		"in a list":                         {spec("l: {type: array, items: {type: object, properties: {a: {type: string}}}}"), spec("l: {type: array, items: {type: object}}"), "{spec: {l: [{}, {a: x}, {a: y}]}}", []string{"spec.l[*].a"}, []string{"spec.l[*].a"}},
		"in a map":                          {spec(named), spec(namedNow), "{spec: {named: {x.y: {old: o}, z: {old: p}}}}", []string{"spec.named.*.old"}, []string{"spec.named.*.old"}},
		"below a key that is like an index": {spec(named), spec(namedNow), "{spec: {named: {'a[0]': {old: o}}}}", []string{"spec.named.*.old"}, []string{"spec.named.*.old"}},
		"a whole object":                    {spec("o: {type: object, properties: {a: {type: string}}}"), spec("b: {type: string}"), "{spec: {o: {a: x}}}", []string{"spec.o"}, []string{"spec.o"}},
		"where the old version keeps all":   {spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true}"), spec("o: {type: object, properties: {a: {type: string}}}"), "{spec: {o: {a: x, b: {c: 1}}}}", []string{"spec.o.*", "spec.o.a.*"}, []string{"spec.o.b"}},
		"where the new version keeps all":   {spec("o: {type: object, properties: {a: {type: string}}}"), spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true}"), "{spec: {o: {a: x}}}", nil, nil},
		"metadata":                          {spec("a: {type: string}"), spec("a: {type: string}"), "{metadata: {name: x, labels: {a: b}}}", nil, nil},
		"an embedded resource":              {spec("o: {type: object, x-kubernetes-embedded-resource: true, properties: {data: {type: string}}}"), spec("o: {type: object, properties: {data: {type: string}}}"), "{spec: {o: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}}", []string{"spec.o.apiVersion", "spec.o.kind", "spec.o.metadata"}, []string{"spec.o.apiVersion", "spec.o.kind", "spec.o.metadata"}},
		"a status":                          {`{type: object, properties: {status: {type: object, properties: {was: {type: string}}}}}`, `{type: object}`, "{status: {was: x}}", []string{"status"}, []string{"status"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			finder, err := fieldloss.Of(crd(t, c.old, c.storage))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(finder.Lacking("v1alpha1")).To(Equal(c.lacking))
			object := map[string]any{}
			g.Expect(yaml.Unmarshal([]byte(c.object), &object)).To(Succeed())
			before, _ := json.Marshal(object)
			g.Expect(finder.Lost(object, "v1alpha1")).To(Equal(c.lost))
			g.Expect(finder.Lacking("v1")).To(BeEmpty())
			g.Expect(json.Marshal(object)).To(MatchJSON(before), "the object was changed")
		})
	}
}

func TestAVersionWithoutASchemaMayHaveAnyField(t *testing.T) {
	g := NewWithT(t)
	with := crd(t, spec("a: {type: string}"), spec("a: {type: string}"))
	with.Spec.Versions[0].Schema = nil
	finder, err := fieldloss.Of(with)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(finder.Lacking("v1alpha1")).To(ContainElement("spec.*"))
	g.Expect(finder.Lost(map[string]any{"spec": map[string]any{"b": "c"}, "x": "y"}, "v1alpha1")).To(Equal([]string{"spec.b", "x"}))
	with.Spec.PreserveUnknownFields = true
	finder, err = fieldloss.Of(with)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(finder.Lacking("v1alpha1")).To(BeEmpty())
}

func TestAllows(t *testing.T) {
	g := NewWithT(t)
	patterns := fieldloss.Patterns("spec.a, spec.named.*.old\nspec.l[*].a,spec.a")
	g.Expect(patterns).To(Equal([]string{"spec.a", "spec.l[*].a", "spec.named.*.old"}))
	for lost, allowed := range map[string]bool{"spec.a": true, "spec.named.*.old": true, "spec.named.x.old": true, "spec.l[*].a": true,
		"spec.b": false, "spec.a.b": false, "spec": false, "spec.named.*": false} {
		g.Expect(fieldloss.Allows(patterns, lost)).To(Equal(allowed), lost)
	}
}

// A key with a dot is one name: it is not let go with a field that is called alike.
func TestAKeyIsNoPath(t *testing.T) {
	for key, want := range map[string]string{
		"b": "spec.b", "a.b": `spec["a.b"]`, "*": `spec["*"]`, "": `spec[""]`, "[0]": `spec["[0]"]`,
		"a, b": `spec["a\u002c\u0020b"]`, "example.com/team": `spec["example.com/team"]`, "grün": "spec.grün",
	} {
		t.Run(key, func(t *testing.T) {
			g := NewWithT(t)
			path := fieldloss.Path{"spec", key, "x"}.String()
			g.Expect(path).To(Equal(want + ".x"))
			g.Expect(fieldloss.Patterns("spec.other "+path)).To(ContainElement(path), "it can be named in a list")
			g.Expect(fieldloss.Allows([]string{path}, path)).To(BeTrue())
			g.Expect(fieldloss.Allows([]string{"spec.*.x"}, path)).To(BeTrue())
			g.Expect(fieldloss.Allows([]string{"spec.*.*.x", "spec.a.b.x", "spec[*].x"}, path)).To(BeFalse())
		})
	}
	g := NewWithT(t)
	g.Expect(fieldloss.Allows([]string{"spec.*"}, "spec[*]")).To(BeFalse(), "an item is no key")
	g.Expect(fieldloss.AnyItem(`spec.l[0]["[0]"].x[12]`)).To(Equal(`spec.l[*]["[0]"].x[*]`))
	g.Expect(fieldloss.Unquoted(`spec.l[0]["a.b"].x[*]`)).To(Equal("spec.l[0].a.b.x[*]"))
	g.Expect(fieldloss.InStatus(fieldloss.Path{"status", "a.b"}.String())).To(BeTrue())
	g.Expect(fieldloss.InStatus(fieldloss.Path{"status.a"}.String())).To(BeFalse())
}

// What no pattern of Lacking stands for is lost by no object, whatever the schemas and the object are.
func TestNoObjectLosesWhatNoVersionLacks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		old, storage := builders.AnySchema(rt, "old"), builders.AnySchema(rt, "storage")
		with := &apiextensionsv1.CustomResourceDefinition{}
		with.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: "v1alpha1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &old}},
			{Name: "v1", Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &storage}},
		}
		finder, err := fieldloss.Of(with)
		if err != nil {
			rt.Fatal(err)
		}
		object := builders.AnyContent(rt)
		lost, err := finder.Lost(object, "v1alpha1")
		if err != nil {
			rt.Fatal(err)
		}
		if lacking := finder.Lacking("v1alpha1"); len(lost) > 0 && len(lacking) == 0 {
			rt.Fatalf("lost %v, and nothing is lacking", lost)
		}
	})
}
