package rewrite

import (
	"context"

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
			next, found := child(at, element)
			if !found {
				return at.XPreserveUnknownFields != nil && *at.XPreserveUnknownFields
			}
			at = next
		}
		return true
	}
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

// isMeta tells the fields that every resource has and no schema need mention.
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
