package fieldownership

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// schema is that of both versions, and has a list of each kind.
const schema = `
type: object
properties:
  spec:
    type: object
    properties:
      size: {type: integer}
      capacity: {type: string}
      unit: {type: string}
      color: {type: string}
      parts: &parts
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, properties: {name: {type: string}, size: {type: integer}, capacity: {type: integer}}}
      pieces: *parts
      tags: &tags {type: array, x-kubernetes-list-type: set, items: {type: string}}
      marks: *tags
      args: {type: array, items: {type: string}}
      sizes: {type: object, additionalProperties: {type: object, properties: {width: {type: integer}}}}
      widths: {type: object, additionalProperties: {type: integer}}
      template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
      limit: {x-kubernetes-int-or-string: true}
  status: {type: object, properties: {phase: {type: string}, state: {type: string}}}
`

func widgets(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	props := &apiextensionsv1.JSONSchemaProps{}
	NewWithT(t).Expect(yaml.Unmarshal([]byte(schema), props)).To(Succeed())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name, crd.Spec.Group, crd.Spec.Names.Kind = "widgets.example.com", "example.com", "Widget"
	for _, name := range []string{"v1alpha1", "v1"} {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props.DeepCopy()},
		})
	}
	return crd
}

// content is an object without apiVersion, kind and name.
type content = map[string]any

// webhook is a webhook in the test's own process: what it does to an object on
// its way to v1, and on its way back.
type webhook struct {
	there, back func(content)
	calls       int
	err         error
}

func (w *webhook) Convert(_ context.Context, objects []content, apiVersion string) (converted []content, err error) {
	w.calls++
	for _, object := range objects {
		o := runtime.DeepCopyJSON(object)
		o["apiVersion"] = apiVersion
		if change := map[string]func(content){current: w.there, old: w.back}[apiVersion]; change != nil {
			change(o)
		}
		converted = append(converted, o)
	}
	return converted, w.err
}

// rename moves what is at one path, separated by dots, to another.
func rename(from, to string) func(content) {
	return func(o content) {
		path := strings.Split(from, ".")
		if value, found, _ := unstructured.NestedFieldCopy(o, path...); found {
			unstructured.RemoveNestedField(o, path...)
			_ = unstructured.SetNestedField(o, value, strings.Split(to, ".")...)
		}
	}
}

// renaming is a webhook that does nothing else.
func renaming(before, after string) *webhook {
	return &webhook{there: rename(before, after), back: rename(after, before)}
}

func all(changes ...func(content)) func(content) {
	return func(o content) {
		for _, change := range changes {
			change(o)
		}
	}
}

func specOf(o content) content {
	s, _ := o["spec"].(content)
	return s
}

// measure joins size and unit to capacity, "5Gi".
func measure(o content) {
	s := specOf(o)
	if s == nil {
		return
	}
	number, _ := json.Marshal(s["size"])
	unit, _ := s["unit"].(string)
	if delete(s, "unit"); s["size"] != nil || unit != "" {
		s["capacity"] = strings.TrimSuffix(string(number), "null") + unit
	}
	delete(s, "size")
}

func unmeasure(o content) {
	s := specOf(o)
	capacity, ok := s["capacity"].(string)
	if !ok {
		return
	}
	delete(s, "capacity")
	unit := strings.TrimLeft(capacity, "0123456789")
	if unit != "" {
		s["unit"] = unit
	}
	size := int64(0)
	if json.Unmarshal([]byte(strings.TrimSuffix(capacity, unit)), &size) == nil {
		s["size"] = size
	}
}

// stash keeps spec.color in an annotation, where v1 has no such field.
func stash(o content) {
	if color, ok := specOf(o)["color"].(string); ok {
		delete(specOf(o), "color")
		_ = unstructured.SetNestedField(o, color, "metadata", "annotations", "color")
	}
}

func unstash(o content) {
	if color, found, _ := unstructured.NestedString(o, "metadata", "annotations", "color"); found {
		unstructured.RemoveNestedField(o, "metadata", "annotations", "color")
		_ = unstructured.SetNestedField(o, color, "spec", "color")
	}
}

// zeros has v1 show each field of its own, set or not, as a Go type without
// omitempty does.
func zeros(o content) {
	s := specOf(o)
	if s == nil {
		s = content{}
		o["spec"] = s
	}
	for name, zero := range map[string]any{"capacity": "", "unit": "", "widths": nil} {
		if _, found := s[name]; !found && zero != nil {
			s[name] = zero
		}
	}
}

func renamePart(before, after string) func(content) {
	return func(o content) {
		parts, _ := specOf(o)["parts"].([]any)
		for _, part := range parts {
			if p := part.(content); p[before] != nil {
				p[after] = p[before]
				delete(p, before)
			}
		}
	}
}

func dropZeros(o content) {
	for name, value := range specOf(o) {
		if value == "" {
			delete(specOf(o), name)
		}
	}
}
