package rewrite

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// HasPath is the Has of an Ownership for a version with the given schema. A nil
// schema has every path.
func HasPath(schema *apiextensionsv1.JSONSchemaProps) func(fieldpath.Path) bool {
	return func(path fieldpath.Path) bool {
		at := schema
		for i, element := range path {
			if at == nil || isMeta(element, i == 0 || at.XEmbeddedResource) {
				return true
			}
			next, found := within(at, element)
			if !found {
				return false
			}
			at = next
		}
		return true
	}
}

// PrunedBy is the schema by which the API server prunes objects at a version of a CRD. It is nil if it keeps all.
func PrunedBy(crd *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.JSONSchemaProps {
	validation, err := apihelpers.GetSchemaForVersion(crd, version)
	if err != nil || validation == nil || crd.Spec.PreserveUnknownFields {
		return nil
	}
	return validation.OpenAPIV3Schema
}

// SameGroups reports whether two schemas divide lists and maps among owners in the same way, so that a field that both
// have is owned under the same path. The path to an item names the keys of its list, and no path leads into an atomic
// list or map.
func SameGroups(a, b *apiextensionsv1.JSONSchemaProps) bool {
	if a == nil && b == nil {
		return true
	}
	group := groupOf(a)
	if group != groupOf(b) {
		return false
	}
	if group == atomicMap {
		return true
	}
	children := []fieldpath.PathElement{{FieldName: new(string)}} // what additionalProperties is for
	for _, s := range []*apiextensionsv1.JSONSchemaProps{a, b} {
		if s != nil {
			for name := range s.Properties {
				children = append(children, fieldpath.PathElement{FieldName: &name})
			}
		}
	}
	if group != "" {
		children = append(children, fieldpath.PathElement{Index: new(int)})
	}
	for _, element := range children {
		inA, hasA := within(a, element)
		inB, hasB := within(b, element)
		if hasA && hasB && !SameGroups(inA, inB) {
			return false
		}
	}
	return true
}

const atomicMap = "atomic map"

// groupOf is how a value is divided. It is empty by default, for an atomic list or a map with fields of their own. That
// is also what the API server takes values for that have no schema (structured-merge-diff, typed.DeducedParseableType).
func groupOf(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s == nil:
		return ""
	case s.XListType != nil && *s.XListType == "map":
		return "list by " + strings.Join(slices.Sorted(slices.Values(s.XListMapKeys)), ", ")
	case s.XListType != nil && *s.XListType == "set":
		return "set"
	case s.XMapType != nil && *s.XMapType == "atomic":
		return atomicMap
	}
	return ""
}

// knowing is the Ownership that knows the schema.
func (w *Walk) knowing(ctx context.Context) (Ownership, error) {
	o := w.Ownership
	if w.Schema == nil {
		return o, nil
	}
	schema, err := w.Schema(ctx)
	if err != nil {
		return o, &Stopped{Unavailable, err}
	}
	o.Has = HasPath(schema)
	return o, nil
}

// isMeta reports whether a field is one that every resource has and no schema need mention.
func isMeta(element fieldpath.PathElement, resource bool) bool {
	if !resource || element.FieldName == nil {
		return false
	}
	switch *element.FieldName {
	case "apiVersion", "kind", "metadata":
		return true
	}
	return false
}

// within is child where a nil schema, and one that preserves unknown fields, has everything. A list that preserves them keeps those
// of its items, too (skipPrune of k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning).
func within(at *apiextensionsv1.JSONSchemaProps, element fieldpath.PathElement) (*apiextensionsv1.JSONSchemaProps, bool) {
	if at == nil {
		return nil, true
	}
	next, found := child(at, element)
	if at.XPreserveUnknownFields == nil || !*at.XPreserveUnknownFields {
		return next, found
	}
	if next != nil && element.FieldName == nil {
		item := *next
		item.XPreserveUnknownFields = at.XPreserveUnknownFields
		next = &item
	}
	return next, true
}

// child is the schema one element further down; a nil schema that is found
// allows anything.
func child(at *apiextensionsv1.JSONSchemaProps, element fieldpath.PathElement) (*apiextensionsv1.JSONSchemaProps, bool) {
	if element.FieldName == nil {
		if at.Items == nil || at.Items.Schema == nil {
			return nil, false
		}
		return at.Items.Schema, true
	}
	if property, ok := at.Properties[*element.FieldName]; ok {
		return &property, true
	}
	if more := at.AdditionalProperties; more != nil && (more.Allows || more.Schema != nil) {
		return more.Schema, true
	}
	return nil, false
}
