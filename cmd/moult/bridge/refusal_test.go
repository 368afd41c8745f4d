package bridge

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/policies/crddiff"
	crdrefusal "github.com/moult-dev/moult/policies/crddiff/refusal"
	"github.com/moult-dev/moult/test/builders"
)

// What package refusal says of a manifest is what a server-side apply of it meets with, for a CRD that is there and for one
// that is not.
func TestARefusalIsThatOfTheAPIServer(t *testing.T) {
	w := suite.WorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1"))
	client, err := dynamic.NewForConfig(cp.Config)
	w.Expect(err).NotTo(HaveOccurred())
	crds := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	manifest := func(crd *apiextensionsv1.CustomResourceDefinition) *unstructured.Unstructured {
		crd.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		w.Expect(err).NotTo(HaveOccurred())
		delete(content, "status")
		return &unstructured.Unstructured{Object: content}
	}
	decoded := func(object *unstructured.Unstructured) *apiextensionsv1.CustomResourceDefinition {
		crd, err := crddiff.Decode(object)
		w.Expect(err).NotTo(HaveOccurred())
		return crd
	}
	there := manifest(builders.CRD(w.CRD.Spec.Group, "widgets").Versions("v1").Build())
	absent := manifest(builders.CRD(w.CRD.Spec.Group, "gadgets").Versions("v1").Build())
	at := func(object map[string]any, steps ...any) map[string]any {
		var inner any = object
		for _, step := range steps {
			if i, isIndex := step.(int); isIndex {
				inner = inner.([]any)[i] //nolint:forcetypeassert // as builders make it
			} else {
				fields := inner.(map[string]any) //nolint:forcetypeassert // as above
				name := step.(string)            //nolint:forcetypeassert // as above
				if fields[name] == nil {
					fields[name] = map[string]any{}
				}
				inner = fields[name]
			}
		}
		return inner.(map[string]any) //nolint:forcetypeassert // as above
	}
	schema := []any{"spec", "versions", 0, "schema", "openAPIV3Schema"}
	for name, c := range map[string]struct {
		change  func(o map[string]any)
		refused bool
	}{
		"nothing":          {func(map[string]any) {}, false},
		"an unknown field": {func(o map[string]any) { o["today"] = "x" }, true},
		"one of metadata":  {func(o map[string]any) { at(o, "metadata")["today"] = "x" }, true},
		"one of spec":      {func(o map[string]any) { at(o, "spec")["foo"] = "bar" }, true},
		"one of a version": {func(o map[string]any) { at(o, "spec", "versions", 0)["storag"] = true }, true},
		"one of a schema":  {func(o map[string]any) { at(o, schema...)["nullabel"] = true }, true},
		"one of a property": {func(o map[string]any) {
			at(o, append(schema, "properties", "x")...)["nullabel"], at(o, append(schema, "properties", "x")...)["type"] = true, "string"
		}, true},
		"one inside of items": {func(o map[string]any) {
			at(o, append(schema, "properties", "x")...)["type"] = "array"
			at(o, append(schema, "properties", "x", "items")...)["type"], at(o, append(schema, "properties", "x", "items")...)["nullabel"] = "string", true
		}, false},
		"a default with any fields": {func(o map[string]any) {
			p := at(o, append(schema, "properties", "x")...)
			p["type"], p["x-kubernetes-preserve-unknown-fields"], p["default"] = "object", true, map[string]any{"a": "b"}
		}, false},
		"an owner without a name": {func(o map[string]any) {
			at(o, "metadata")["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "uid": "a"}}
		}, true},
		"an owner without a uid": {func(o map[string]any) {
			at(o, "metadata")["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}}
		}, true},
		"a finalizer of two words": {func(o map[string]any) { at(o, "metadata")["finalizers"] = []any{"foo bar"} }, true},
		"a finalizer":              {func(o map[string]any) { at(o, "metadata")["finalizers"] = []any{"example.com/foo"} }, false},
		"a uid":                    {func(o map[string]any) { at(o, "metadata")["uid"] = "abc" }, true},
		"a resource version":       {func(o map[string]any) { at(o, "metadata")["resourceVersion"] = "1" }, true},
		"managed fields": {func(o map[string]any) {
			at(o, "metadata")["managedFields"] = []any{map[string]any{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{}}}
		}, true},
		"a generation and a date": {func(o map[string]any) {
			at(o, "metadata")["generation"], at(o, "metadata")["creationTimestamp"] = int64(7), "2020-01-01T00:00:00Z"
		}, false},
	} {
		for which, before := range map[string]*unstructured.Unstructured{"an update": there, "a new CRD": nil} {
			t.Run(name+", "+which, func(t *testing.T) {
				g := NewWithT(t)
				head := absent.DeepCopy()
				var base *apiextensionsv1.CustomResourceDefinition
				if before != nil {
					head, base = before.DeepCopy(), decoded(before)
				}
				c.change(head.Object)
				_, err := crds.Apply(t.Context(), head.GetName(), head, metav1.ApplyOptions{FieldManager: "kustomize-controller", Force: true, DryRun: []string{metav1.DryRunAll}})
				refused := c.refused && (name != "a resource version" || before != nil) // only the next apply meets with it
				g.Expect(err != nil).To(Equal(refused), "the API server says %v", err)
				is, undeclared, err := crddiff.DecodeStrictly(head)
				g.Expect(err).NotTo(HaveOccurred())
				said := append(crdrefusal.Of(base, is), crdrefusal.Undeclared(base, is, nil, undeclared)...)
				g.Expect(len(said) > 0).To(Equal(refused), "%v", said)
			})
		}
	}
}
