package crdschema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/crdschema"
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
		"where the old version keeps all":   {spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true}"), spec("o: {type: object, properties: {a: {type: string}}}"), "{spec: {o: {a: x, b: {c: 1}}}}", []string{"spec.o.*", "spec.o.a.*", "spec.o.a[*].*"}, []string{"spec.o.b"}},
		"where the new version keeps all":   {spec("o: {type: object, properties: {a: {type: string}}}"), spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true}"), "{spec: {o: {a: x}}}", nil, nil},
		"metadata":                          {spec("a: {type: string}"), spec("a: {type: string}"), "{metadata: {name: x, labels: {a: b}}}", nil, nil},
		"an embedded resource":              {spec("o: {type: object, x-kubernetes-embedded-resource: true, properties: {data: {type: string}}}"), spec("o: {type: object, properties: {data: {type: string}}}"), "{spec: {o: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}}", []string{"spec.o.apiVersion", "spec.o.kind", "spec.o.metadata"}, []string{"spec.o.apiVersion", "spec.o.kind", "spec.o.metadata"}},
		"what becomes an embedded resource": {spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true}"), spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}"), "{spec: {o: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, creationTimestamp: null, team: red, ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: u, since: z}]}, data: {a: b}}}}",
			[]string{"spec.o.metadata.*", "spec.o.metadata.managedFields[*].*", "spec.o.metadata.ownerReferences[*].*"}, []string{"spec.o.metadata.ownerReferences[*].since", "spec.o.metadata.team"}},
		"an embedded resource whose metadata is named":                {spec("o: {type: object, properties: {metadata: {type: object, properties: {name: {type: string}, team: {type: string}}}}}"), spec("o: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}"), "{spec: {o: {metadata: {name: x, team: red}}}}", []string{"spec.o.metadata.name", "spec.o.metadata.team"}, []string{"spec.o.metadata.team"}},
		"labels without a label in what becomes an embedded resource": {spec("o: {type: object, properties: {metadata: {type: object, properties: {labels: {type: object, additionalProperties: {type: string}}}}}}"), spec("o: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}"), "{spec: {o: {metadata: {labels: {}}}}}", []string{"spec.o.metadata.labels"}, []string{"spec.o.metadata.labels"}},
		"metadata of which the API server refuses to make an embedded resource's": {spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true}"), spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}"), "{spec: {o: {metadata: {labels: {a: 1}, team: red}}}}",
			[]string{"spec.o.metadata.*", "spec.o.metadata.managedFields[*].*", "spec.o.metadata.ownerReferences[*].*"}, nil},
		"a null that keeps a default away":               {spec("a: {type: string, nullable: true, default: x}"), spec("a: {type: string}"), "{spec: {a: null}}", []string{"spec.a"}, []string{"spec.a"}},
		"a null that is replaced by a default":           {spec("a: {type: string, nullable: true, default: x}"), spec("a: {type: string, default: y}"), "{spec: {a: null}}", []string{"spec.a"}, []string{"spec.a"}},
		"a null that gets a default instead":             {spec("a: {type: string, nullable: true}"), spec("a: {type: string, default: x}"), "{spec: {a: null}}", []string{"spec.a"}, []string{"spec.a"}},
		"a null in a list that is not nullable any more": {spec("l: {type: array, items: {type: boolean}}"), spec("l: {type: array, items: {type: boolean, default: true}}"), "{spec: {l: [false, null]}}", []string{"spec.l[*]"}, []string{"spec.l[*]"}},
		"a null in a list, which pruning leaves":         {spec("l: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}"), spec("l: {type: array, items: {x-kubernetes-preserve-unknown-fields: true, default: {}}}"), "{spec: {l: [x, null]}}", []string{"spec.l[*]"}, []string{"spec.l[*]"}},
		"a null that stays away":                         {spec("a: {type: string, nullable: true}"), spec("a: {type: string}"), "{spec: {a: null}}", nil, nil},
		"a null that says nothing":                       {spec("a: {type: string, nullable: true}"), spec("b: {type: string}"), "{spec: {a: null}}", []string{"spec.a"}, nil},
		"a key whose value is null":                      {spec("m: {type: object, additionalProperties: {type: string, nullable: true}}"), spec("m: {type: object, additionalProperties: {type: string}}"), "{spec: {m: {a: null, b: x}}}", []string{"spec.m.*"}, []string{"spec.m.*"}},
		"a null where all is kept":                       {spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true}"), spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {x-kubernetes-preserve-unknown-fields: true, default: x}}}"), "{spec: {o: {a: null}}}", []string{"spec.o.a"}, []string{"spec.o.a"}},
		"a null in a map of anything":                    {spec("m: {type: object, additionalProperties: true}"), spec("m: {type: object, additionalProperties: {type: string, default: x}}"), "{spec: {m: {a: null}}}", []string{"spec.m.*"}, []string{"spec.m.*"}},
		"a null in a list of a map of anything":          {spec("m: {type: object, additionalProperties: true}"), spec("m: {type: object, additionalProperties: {type: array, nullable: true, items: {x-kubernetes-preserve-unknown-fields: true, default: 0}}}"), "{spec: {m: {a: [x, null]}}}", []string{"spec.m.*[*]"}, []string{"spec.m.*[*]"}},
		"what a map of anything keeps of anything":       {spec("m: {type: object, x-kubernetes-preserve-unknown-fields: true}"), spec("m: {type: object, additionalProperties: true}"), "{spec: {m: {a: [[x, null], {b: c}]}}}", []string{"spec.m.*.*", "spec.m.*[*].*"}, []string{"spec.m.a[*].b"}},
		"a null where all is kept, of a map":             {spec("m: {type: object, x-kubernetes-preserve-unknown-fields: true}"), spec("m: {type: object, additionalProperties: {x-kubernetes-preserve-unknown-fields: true}}"), "{spec: {m: {a: null, b: x}}}", []string{"spec.m.*"}, []string{"spec.m.a"}},
		"a null field where a map is stored":             {spec("m: {type: object, properties: {a: {type: string, nullable: true}}}"), spec("m: {type: object, additionalProperties: {type: string}}"), "{spec: {m: {a: null}}}", nil, nil},
		"an item that is null":                           {spec("l: {type: array, items: {type: string, nullable: true}}"), spec("l: {type: array, items: {type: string, default: x}}"), "{spec: {l: [null]}}", []string{"spec.l[*]"}, []string{"spec.l[*]"}},
		"a status":                                       {`{type: object, properties: {status: {type: object, properties: {was: {type: string}}}}}`, `{type: object}`, "{status: {was: x}}", []string{"status"}, []string{"status"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			finder, err := crdschema.Of(crd(t, c.old, c.storage))
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

// The witness of an embedded object's metadata has whatever metadata may have.
func TestMetadataOfAnEmbeddedResourceIsLostFieldByField(t *testing.T) {
	g := NewWithT(t)
	const embedded = `o: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`
	finder, err := crdschema.Of(crd(t, spec(embedded), spec(`o: {type: object, properties: {metadata: {type: object}}}`)))
	g.Expect(err).NotTo(HaveOccurred())
	lacking := finder.Lacking("v1alpha1")
	for meta := range reflect.TypeFor[metav1.ObjectMeta]().Fields() {
		name, _, _ := strings.Cut(meta.Tag.Get("json"), ",")
		g.Expect(lacking).To(ContainElement("spec.o.metadata." + name))
	}
}

func TestAVersionWithoutASchemaMayHaveAnyField(t *testing.T) {
	g := NewWithT(t)
	with := crd(t, spec("a: {type: string}"), spec("a: {type: string}"))
	with.Spec.Versions[0].Schema = nil
	finder, err := crdschema.Of(with)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(finder.Lacking("v1alpha1")).To(ContainElement("spec.*"))
	g.Expect(finder.Lost(map[string]any{"spec": map[string]any{"b": "c"}, "x": "y"}, "v1alpha1")).To(Equal([]string{"spec.b", "x"}))
	with.Spec.PreserveUnknownFields = true
	finder, err = crdschema.Of(with)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(finder.Lacking("v1alpha1")).To(BeEmpty())
}

// What any key may lose is found by a name that is in neither schema, whatever they name.
func TestNoFieldIsNamedAsAnyKey(t *testing.T) {
	for name, c := range map[string]struct{ old, storage, object, lacking string }{
		"in a map":               {`additionalProperties: {type: string}`, `properties: {"\0any": {type: string}}`, `{k: v}`, "spec.*"},
		"where all is kept":      {`x-kubernetes-preserve-unknown-fields: true`, `properties: {"\0any": {type: string}, "\0any\0": {type: string}}`, `{k: v}`, "spec.*"},
		"below what is kept":     {`x-kubernetes-preserve-unknown-fields: true`, `properties: {"\0any": {x-kubernetes-preserve-unknown-fields: true}}`, `{k: {l: 1}}`, "spec.*"},
		"in the old schema only": {`properties: {"\0any": {type: string}}`, `properties: {}`, `{"\0any": v}`, `spec["\u0000any"]`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			of := func(schema string) string {
				return `{type: object, properties: {spec: {type: object, ` + schema + `}}}`
			}
			finder, err := crdschema.Of(crd(t, of(c.old), of(c.storage)))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(finder.Lacking("v1alpha1")).To(ContainElement(c.lacking))
			object := map[string]any{}
			g.Expect(yaml.Unmarshal([]byte(`{spec: `+c.object+`}`), &object)).To(Succeed())
			g.Expect(finder.Lost(object, "v1alpha1")).To(HaveLen(1))
		})
	}
}

func TestHas(t *testing.T) {
	g := NewWithT(t)
	object := map[string]any{"spec": map[string]any{
		"color": nil, "hosts": []any{map[string]any{"old": "a"}, map[string]any{"new": "b"}}, "labels": map[string]any{"example.com/team": "a"},
	}}
	for pattern, has := range map[string]bool{
		"spec": true, "spec.color": true, "spec.colour": false, "spec.color.deep": false, "spec.*": true, "*": true, "*.*.*.*": false,
		"spec.hosts[*].old": true, "spec.hosts[0].old": true, "spec.hosts[1].old": false, "spec.hosts[*].none": false, "spec.hosts.old": false,
		`spec.labels["example.com/team"]`: true, `spec.labels["example.com/crew"]`: false, "spec[0": false, "status": false,
	} {
		g.Expect(crdschema.Has(object, pattern)).To(Equal(has), pattern)
	}
}

func TestAllows(t *testing.T) {
	g := NewWithT(t)
	patterns := crdschema.Patterns("spec.a, spec.named.*.old\nspec.l[*].a,spec.a")
	g.Expect(patterns).To(Equal([]string{"spec.a", "spec.l[*].a", "spec.named.*.old"}))
	for lost, allowed := range map[string]bool{"spec.a": true, "spec.named.*.old": true, "spec.named.x.old": true, "spec.l[*].a": true,
		"spec.b": false, "spec.a.b": false, "spec": false, "spec.named.*": false} {
		g.Expect(crdschema.Allows(patterns, lost)).To(Equal(allowed), lost)
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
			path := crdschema.Path{"spec", key, "x"}.String()
			g.Expect(path).To(Equal(want + ".x"))
			g.Expect(crdschema.Patterns("spec.other "+path)).To(ContainElement(path), "it can be named in a list")
			g.Expect(crdschema.Allows([]string{path}, path)).To(BeTrue())
			g.Expect(crdschema.Allows([]string{"spec.*.x"}, path)).To(BeTrue())
			g.Expect(crdschema.Allows([]string{"spec.*.*.x", "spec.a.b.x", "spec[*].x"}, path)).To(BeFalse())
		})
	}
	g := NewWithT(t)
	g.Expect(crdschema.Allows([]string{"spec.*"}, "spec[*]")).To(BeFalse(), "an item is no key")
	g.Expect(crdschema.AnyItem(`spec.l[0]["[0]"].x[12]`)).To(Equal(`spec.l[*]["[0]"].x[*]`))
	g.Expect(crdschema.Unquoted(`spec.l[0]["a.b"].x[*]`)).To(Equal("spec.l[0].a.b.x[*]"))
	g.Expect(crdschema.InStatus(crdschema.Path{"status", "a.b"}.String())).To(BeTrue())
	g.Expect(crdschema.InStatus(crdschema.Path{"status.a"}.String())).To(BeFalse())
}

// What no pattern of Lacking stands for is lost by no object, whatever the schemas and the object are.
func TestNoObjectLosesWhatNoVersionLacks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		old := builders.AnySchema(rt, "old")
		storage := builders.Successor(rt, old)
		if rapid.Bool().Draw(rt, "another") {
			storage = builders.AnySchema(rt, "storage")
		}
		with := &apiextensionsv1.CustomResourceDefinition{}
		with.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: "v1alpha1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &old}},
			{Name: "v1", Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &storage}},
		}
		finder, err := crdschema.Of(with)
		if err != nil {
			rt.Fatal(err)
		}
		asTheSchemaHasIt, object := rapid.Bool().Draw(rt, "as the schema has it"), builders.AnyContent(rt)
		if asTheSchemaHasIt {
			object, _ = builders.ContentOf(rt, old).(map[string]any)
		}
		lost, err := finder.Lost(object, "v1alpha1")
		if err != nil {
			rt.Fatal(err)
		}
		lacking := finder.Lacking("v1alpha1")
		for _, field := range lost {
			if len(lacking) == 0 || asTheSchemaHasIt && !crdschema.Allows(lacking, field) {
				rt.Fatalf("lost %s, and lacking is %v", field, lacking)
			}
		}
	})
}

func TestOfVeryMuchThatIsLackingNotAllIsListed(t *testing.T) {
	g := NewWithT(t)
	level := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"kept": {Type: "string"}}}
	now := level
	before := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"kept": {Type: "string"}}}
	for i := range 2000 {
		before.Properties[fmt.Sprintf("gone-%d", i)] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	for range 20 {
		name := strings.Repeat("x", 240)
		before = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{name: before}}
		now = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{name: now}}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	for name, schema := range map[string]*apiextensionsv1.JSONSchemaProps{"v1alpha1": &before, "v1": &now} {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: name == "v1",
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema}})
	}
	finder, err := crdschema.Of(crd)
	g.Expect(err).NotTo(HaveOccurred())
	lacking := finder.Lacking("v1alpha1")
	g.Expect(lacking).To(ContainElement(crdschema.More))
	g.Expect(len(strings.Join(lacking, ""))).To(BeNumerically("<", 5<<20))
}
