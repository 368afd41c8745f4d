package crdschema_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/policies/crdschema"
)

func TestWhichFieldsManagedFieldsName(t *testing.T) {
	const list = `l: {type: array, items: {type: object, properties: {name: {type: string}, a: {type: string}}}}`
	const listNow = `l: {type: array, items: {type: object, properties: {name: {type: string}}}}`
	const named = `named: {type: object, additionalProperties: {type: object, properties: {name: {type: string}, old: {type: string}}}}`
	const namedNow = `named: {type: object, additionalProperties: {type: object, properties: {name: {type: string}}}}`
	for name, c := range map[string]struct {
		old, storage, at, fields string
		want                     []string
	}{
		"a field that both have":               {spec("a: {type: string}"), spec("a: {type: string}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, nil},
		"one that the storage version lacks":   {spec("a: {type: string}"), spec("b: {type: string}"), "v1alpha1", `{"f:spec": {".": {}, "f:a": {}}}`, []string{"spec.a"}},
		"one that is named beside others":      {spec("a: {type: string}, b: {type: string}"), spec("b: {type: string}"), "v1alpha1", `{"f:spec": {".": {}, "f:b": {}}}`, nil},
		"an entry at the storage version":      {spec("a: {type: string}"), spec("b: {type: string}"), "v1", `{"f:spec": {"f:a": {}}}`, nil},
		"an entry at a version that has left":  {spec("a: {type: string}"), spec("b: {type: string}"), "v1alpha0", `{"f:spec": {"f:a": {}}}`, []string{"spec.a"}},
		"any field, at a version that left":    {spec("a: {type: string}"), spec("b: {type: string}"), "v1alpha0", `{"f:spec": {"f:c": {}}}`, []string{"spec.a"}},
		"one with a default":                   {spec("a: {type: string, default: x}"), spec("b: {type: string}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, []string{"spec.a"}},
		"in a list with keys":                  {spec(list), spec(listNow), "v1alpha1", `{"f:spec": {"f:l": {"k:{\"name\":\"x\"}": {".": {}, "f:name": {}, "f:a": {}}}}}`, []string{"spec.l[*].a"}},
		"in a list with keys, without the one": {spec(list), spec(listNow), "v1alpha1", `{"f:spec": {"f:l": {"k:{\"name\":\"x\"}": {".": {}, "f:name": {}}}}}`, nil},
		"in a list that is owned as a whole":   {spec(list), spec(listNow), "v1alpha1", `{"f:spec": {"f:l": {}}}`, []string{"spec.l[*].a"}},
		"in a map":                             {spec(named), spec(namedNow), "v1alpha1", `{"f:spec": {"f:named": {"f:x.y": {"f:old": {}}, "f:z": {"f:name": {}}}}}`, []string{"spec.named.*.old"}},
		"an empty item of a map":               {spec(named), spec(namedNow), "v1alpha1", `{"f:spec": {"f:named": {"f:z": {}}}}`, nil},
		"an object whose fields others own":    {spec(named), spec(namedNow), "v1alpha1", `{"f:spec": {".": {}}}`, nil},
		"an atomic map":                        {spec("o: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}}}"), spec("o: {type: object}"), "v1alpha1", `{"f:spec": {"f:o": {}}}`, []string{"spec.o.a"}},
		"a list with keys that is empty":       {spec(`l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, a: {type: string}}}}`), spec(listNow), "v1alpha1", `{"f:spec": {"f:l": {}}}`, nil},
		"where the old version keeps all":      {spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true}"), spec("o: {type: object, properties: {a: {type: string}}}"), "v1alpha1", `{"f:spec": {"f:o": {"f:b": {}}}}`, []string{"spec.o.b"}},
		"what both have of what one keeps":     {spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}"), spec("o: {type: object, properties: {a: {type: string}}}"), "v1alpha1", `{"f:spec": {"f:o": {"f:a": {}}}}`, nil},
		"a null that gets a default":           {spec("a: {type: string, nullable: true}"), spec("a: {type: string, default: x}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, []string{"spec.a"}},
		"a null that gets another default":     {spec("a: {type: string, nullable: true, default: x}"), spec("a: {type: string, default: y}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, []string{"spec.a"}},
		"a null of an object":                  {spec("a: {type: object, nullable: true, properties: {b: {type: string}}}"), spec("a: {type: object, default: {}, properties: {b: {type: string, default: x}}}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, []string{"spec.a"}},
		"a null of a key":                      {spec("m: {type: object, additionalProperties: {type: string, nullable: true}}"), spec("m: {type: object, additionalProperties: {type: string, default: x}}"), "v1alpha1", `{"f:spec": {"f:m": {"f:k": {}}}}`, []string{"spec.m.*"}},
		"a default that both have":             {spec("a: {type: string, default: x}, b: {type: string}"), spec("a: {type: string, default: x}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, nil},
		"a default that becomes another one":   {spec("a: {type: string, default: x}, b: {type: string}"), spec("a: {type: string, default: y}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, nil},
		"a default that is not owned":          {spec("a: {type: string, nullable: true}, b: {type: string, default: x}"), spec("a: {type: string, nullable: true}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, nil},
		"a null beside what is embedded":       {spec("a: {type: string, nullable: true}, o: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}"), spec("a: {type: string, default: x}, o: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}"), "v1alpha1", `{"f:spec": {"f:a": {}, "f:o": {"f:apiVersion": {}, "f:kind": {}, "f:metadata": {"f:name": {}, "f:labels": {"f:a": {}}}}}}`, []string{"spec.a"}},
		"a null that stays":                    {spec("a: {type: string, nullable: true}"), spec("a: {type: string, nullable: true}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, nil},
		"metadata":                             {spec("a: {type: string}"), spec("b: {type: string}"), "v1alpha1", `{"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f, err := crdschema.Of(crd(t, c.old, c.storage))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(f.Named(nil, []metav1.ManagedFieldsEntry{
				{Manager: "a", APIVersion: "example.com/v1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata": {"f:labels": {}}}`)},
				{Manager: "b", APIVersion: "example.com/" + c.at, FieldsV1: metav1.NewFieldsV1(c.fields)},
			}, "v1alpha1")).To(Equal(c.want))
		})
	}
}

// At the storage version the object shows whether it can have been null.
func TestAValueThatIsNotTheDefaultWasNoNull(t *testing.T) {
	g := NewWithT(t)
	f, err := crdschema.Of(crd(t, spec("a: {type: string, nullable: true}"), spec("a: {type: string, default: x}")))
	g.Expect(err).NotTo(HaveOccurred())
	entries := []metav1.ManagedFieldsEntry{{Manager: "a", APIVersion: "example.com/v1alpha1", FieldsV1: metav1.NewFieldsV1(`{"f:spec": {"f:a": {}}}`)}}
	for value, want := range map[string][]string{"x": {"spec.a"}, "y": nil} {
		g.Expect(f.Named(map[string]any{"spec": map[string]any{"a": value}}, entries, "v1alpha1")).To(Equal(want), value)
	}
}

func TestWithoutManagedFieldsEveryFieldMayBeThere(t *testing.T) {
	g := NewWithT(t)
	f, err := crdschema.Of(crd(t, spec("a: {type: string}, b: {type: string}"), spec("b: {type: string}")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.Named(nil, nil, "v1alpha1")).To(Equal([]string{"spec.a"}))
}

// A tenant can fill managedFields, and a set of fields is read in the square of their number.
func TestOfLongManagedFieldsEveryFieldMayBeThere(t *testing.T) {
	g := NewWithT(t)
	f, err := crdschema.Of(crd(t, spec("a: {type: string}, b: {type: string}"), spec("b: {type: string}")))
	g.Expect(err).NotTo(HaveOccurred())
	named := func(fields int) ([]string, error) {
		all := `{"f:spec":{"f:b":{}` + strings.Repeat(`,"f:b":{}`, fields) + `}}`
		return f.Named(nil, []metav1.ManagedFieldsEntry{{APIVersion: "example.com/v1", FieldsV1: metav1.NewFieldsV1(all)}}, "v1alpha1")
	}
	g.Expect(named(10)).To(BeEmpty())
	g.Expect(named(20_000)).To(Equal([]string{"spec.a"}))
}

func TestManagedFieldsThatCannotBeReadAreAnError(t *testing.T) {
	g := NewWithT(t)
	f, err := crdschema.Of(crd(t, spec("a: {type: string}"), spec("b: {type: string}")))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = f.Named(nil, []metav1.ManagedFieldsEntry{{Manager: "kubectl", APIVersion: "example.com/v1alpha1", FieldsV1: metav1.NewFieldsV1(`{"f:`)}}, "v1alpha1")
	g.Expect(err).To(MatchError(ContainSubstring("the entry of kubectl in managedFields")))
}

func TestAFieldWithoutAnOwnerShowsThatManagedFieldsDoNotRecordAll(t *testing.T) {
	const storage = `b: {type: string}, c: {type: string, default: x}, o: {type: object, x-kubernetes-map-type: atomic, properties: {d: {type: string}}}`
	for name, c := range map[string]struct {
		fields string
		object map[string]any
		want   []string
	}{
		"all are owned":              {`{"f:spec": {"f:b": {}, "f:o": {}}}`, map[string]any{"spec": map[string]any{"b": "x", "o": map[string]any{"d": "x"}}}, nil},
		"one is not":                 {`{"f:spec": {"f:o": {}}}`, map[string]any{"spec": map[string]any{"b": "x"}}, []string{"spec.a"}},
		"it has its default":         {`{"f:spec": {"f:b": {}}}`, map[string]any{"spec": map[string]any{"b": "x", "c": "x"}}, nil},
		"it has not":                 {`{"f:spec": {"f:b": {}}}`, map[string]any{"spec": map[string]any{"b": "x", "c": "y"}}, []string{"spec.a"}},
		"nothing of the spec is":     {`{"f:metadata": {"f:labels": {}}}`, map[string]any{"spec": map[string]any{"b": "x"}}, []string{"spec.a"}},
		"the spec is owned as a one": {`{"f:spec": {}}`, map[string]any{"spec": map[string]any{"b": "x"}}, nil},
		"status":                     {`{"f:metadata": {}}`, map[string]any{"status": map[string]any{"b": "x"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f, err := crdschema.Of(crd(t, spec("a: {type: string}, "+storage), spec(storage)))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(f.Named(c.object, []metav1.ManagedFieldsEntry{
				{Manager: "a", APIVersion: "example.com/v1", FieldsV1: metav1.NewFieldsV1(c.fields)},
			}, "v1alpha1")).To(Equal(c.want))
		})
	}
}
