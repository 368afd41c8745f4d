package crdschema_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/policies/crdschema"
)

// Whatever an entry names: what mutating admission sets when an object is created, no entry names.
func TestOfAnObjectThatWasWrittenAtAHiddenVersionEveryFieldMayBeThere(t *testing.T) {
	for name, c := range map[string]struct {
		old, storage, at, fields string
		want                     []string
	}{
		"a field that both have":             {spec("a: {type: string}"), spec("a: {type: string}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, nil},
		"one that the storage version lacks": {spec("a: {type: string}"), spec("b: {type: string}"), "v1alpha1", `{"f:spec": {".": {}, "f:a": {}}}`, []string{"spec.a"}},
		"one that no entry names":            {spec("a: {type: string}, b: {type: string}"), spec("b: {type: string}"), "v1alpha1", `{"f:spec": {".": {}, "f:b": {}}}`, []string{"spec.a"}},
		"an entry at the storage version":    {spec("a: {type: string}"), spec("b: {type: string}"), "v1", `{"f:spec": {"f:a": {}}}`, nil},
		"an entry at a version that left":    {spec("a: {type: string}"), spec("b: {type: string}"), "v1alpha0", `{"f:spec": {"f:c": {}}}`, []string{"spec.a"}},
		"a null that gets a default":         {spec("a: {type: string, nullable: true}"), spec("a: {type: string, default: x}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, []string{"spec.a"}},
		"a null that stays":                  {spec("a: {type: string, nullable: true}"), spec("a: {type: string, nullable: true}"), "v1alpha1", `{"f:spec": {"f:a": {}}}`, nil},
		"metadata":                           {spec("a: {type: string}"), spec("b: {type: string}"), "v1alpha1", `{"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}`, []string{"spec.a"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f, err := crdschema.Of(crd(t, c.old, c.storage))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(f.MayHave(nil, []metav1.ManagedFieldsEntry{
				{Manager: "a", APIVersion: "example.com/v1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata": {"f:labels": {}}}`)},
				{Manager: "b", APIVersion: "example.com/" + c.at, FieldsV1: metav1.NewFieldsV1(c.fields)},
			}, "v1alpha1")).To(Equal(c.want))
		})
	}
}

func TestWithoutManagedFieldsEveryFieldMayBeThere(t *testing.T) {
	g := NewWithT(t)
	f, err := crdschema.Of(crd(t, spec("a: {type: string}, b: {type: string}"), spec("b: {type: string}")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.MayHave(nil, nil, "v1alpha1")).To(Equal([]string{"spec.a"}))
}

// A tenant can fill managedFields, and a set of fields is read in the square of their number.
func TestOfLongManagedFieldsEveryFieldMayBeThere(t *testing.T) {
	g := NewWithT(t)
	f, err := crdschema.Of(crd(t, spec("a: {type: string}, b: {type: string}"), spec("b: {type: string}")))
	g.Expect(err).NotTo(HaveOccurred())
	named := func(fields int) ([]string, error) {
		all := `{"f:spec":{"f:b":{}` + strings.Repeat(`,"f:b":{}`, fields) + `}}`
		return f.MayHave(nil, []metav1.ManagedFieldsEntry{{APIVersion: "example.com/v1", FieldsV1: metav1.NewFieldsV1(all)}}, "v1alpha1")
	}
	g.Expect(named(10)).To(BeEmpty())
	g.Expect(named(20_000)).To(Equal([]string{"spec.a"}))
}

func TestManagedFieldsThatCannotBeReadAreAnError(t *testing.T) {
	g := NewWithT(t)
	f, err := crdschema.Of(crd(t, spec("a: {type: string}"), spec("b: {type: string}")))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = f.MayHave(nil, []metav1.ManagedFieldsEntry{{Manager: "kubectl", APIVersion: "example.com/v1", FieldsV1: metav1.NewFieldsV1(`{"f:`)}}, "v1alpha1")
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
			g.Expect(f.MayHave(c.object, []metav1.ManagedFieldsEntry{
				{Manager: "a", APIVersion: "example.com/v1", FieldsV1: metav1.NewFieldsV1(c.fields)},
			}, "v1alpha1")).To(Equal(c.want))
		})
	}
}
