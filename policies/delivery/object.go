package delivery

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/finding"
)

// Object is one object of a unit, as it would be applied. Manifests may be anything: a field that is of another type than
// it should be is as if it were not there.
type Object struct {
	*unstructured.Unstructured

	// At is where the object stands, or its field, or the innermost one around it that is there. It is empty for what comes
	// from another repository, and may be nil. The first call for an object of a folder may build the folder once more.
	At func(fields ...string) finding.Place
}

// Place is where an object or its field stands, as far as that is known; of no object it is empty.
func (o *Object) Place(fields ...string) finding.Place {
	if o == nil || o.At == nil {
		return finding.Place{}
	}
	return o.At(fields...)
}

// Is reports whether the object is of a kind, in whichever version.
func (o *Object) Is(group, kind string) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == group && gvk.Kind == kind
}

// IsCRD reports whether the object is a CustomResourceDefinition.
func (o *Object) IsCRD() bool { return crds.Is(o.GetAPIVersion(), o.GetKind()) }

// IsGate reports whether the object is a VersionRemoval.
func (o *Object) IsGate() bool { return o.Is("moult.dev", "VersionRemoval") }

// Same reports whether two are the same object of a cluster.
func (o *Object) Same(other *Object) bool {
	return o.GroupVersionKind() == other.GroupVersionKind() && o.GetName() == other.GetName() && o.GetNamespace() == other.GetNamespace()
}

// Annotation is the value of an annotation, empty if there is none.
func (o *Object) Annotation(key string) string { return o.Text("metadata", "annotations", key) }

// Field is the value of a field, nil if there is none.
func (o *Object) Field(fields ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, fields...)
	return value
}

// Text is the value of a field that holds one, empty if there is none.
func (o *Object) Text(fields ...string) string {
	value, _ := o.Field(fields...).(string)
	return value
}

// True reports whether a field is true.
func (o *Object) True(fields ...string) bool { return o.Field(fields...) == true }

// Texts are the strings of a list that holds nothing else.
func (o *Object) Texts(fields ...string) []string {
	texts, _, _ := unstructured.NestedStringSlice(o.Object, fields...)
	return texts
}

// TextMap are the strings of a map that holds nothing else.
func (o *Object) TextMap(fields ...string) map[string]string {
	texts, _, _ := unstructured.NestedStringMap(o.Object, fields...)
	return texts
}

// Entries are the maps of a list, each as an object of its own.
func (o *Object) Entries(fields ...string) []*Object {
	list, _ := o.Field(fields...).([]any)
	var found []*Object
	for _, item := range list {
		if entry, ok := item.(map[string]any); ok {
			found = append(found, Wrap(entry))
		}
	}
	return found
}

// In is what a field holds, as an object of its own: one without fields if it is no map.
func (o *Object) In(fields ...string) *Object {
	content, _ := o.Field(fields...).(map[string]any)
	return Wrap(content)
}

// Wrap is a map as an object, to read its fields.
func Wrap(content map[string]any) *Object {
	return &Object{Unstructured: &unstructured.Unstructured{Object: content}}
}
