package builders

import (
	"cmp"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"
)

// depth is how deep schemas and objects go that are drawn at random.
const depth = 3

// names are few, so that schemas and objects meet.
var names = rapid.SampledFrom([]string{"a", "b", "c", "metadata"})

// AnySchema is one that an API server takes for a version: fields, maps, lists, fields that are kept without a name, embedded
// resources, and defaults.
func AnySchema(t *rapid.T, label string) apiextensionsv1.JSONSchemaProps {
	s := apiextensionsv1.JSONSchemaProps{Type: "object"}
	s.Properties = fieldsOf(t, depth, label)
	return s
}

func fieldsOf(t *rapid.T, depth int, label string) map[string]apiextensionsv1.JSONSchemaProps {
	properties := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, name := range rapid.SliceOfNDistinct(names, 0, 3, rapid.ID[string]).Draw(t, label) {
		if name != "metadata" {
			properties[name] = schemaOf(t, depth-1, label)
		}
	}
	return properties
}

func schemaOf(t *rapid.T, depth int, label string) apiextensionsv1.JSONSchemaProps {
	s := apiextensionsv1.JSONSchemaProps{Type: "object"}
	kind := rapid.SampledFrom([]string{"string", "default", "fields", "map", "any map", "all", "list", "embedded", "with metadata", "integer", "nullable"}).Draw(t, label)
	if depth <= 0 && kind != "default" {
		kind = "string"
	}
	switch kind {
	case "fields":
		s.Properties = fieldsOf(t, depth, label)
	case "map":
		below := schemaOf(t, depth-1, label)
		s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &below}
	case "any map":
		s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}
	case "all":
		s.XPreserveUnknownFields, s.Properties = new(true), fieldsOf(t, depth, label)
	case "embedded":
		s.XEmbeddedResource, s.Properties = true, fieldsOf(t, depth, label)
		s.Properties["c"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		if rapid.Bool().Draw(t, label) {
			s.XPreserveUnknownFields = new(true)
		}
	case "with metadata": // as an embedded resource has them, but for the promise
		s.Properties = fieldsOf(t, depth, label)
		s.Properties["metadata"] = metadataOf(t, label)
	case "list":
		below := schemaOf(t, depth-1, label)
		s.Type, s.Items = "array", &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &below}
		if rapid.Bool().Draw(t, label) {
			s.XPreserveUnknownFields = new(true)
		}
	case "default":
		s.Type, s.Default = "string", &apiextensionsv1.JSON{Raw: []byte(`"x"`)}
	case "string":
		s.Type = "string"
	case "integer":
		s.Type = "integer"
	case "nullable":
		s.Type, s.Nullable = "string", true
		if rapid.Bool().Draw(t, label) {
			s.Default = &apiextensionsv1.JSON{Raw: []byte(`"x"`)}
		}
	}
	return s
}

// metadataOf knows some fields that metadata may have, and one that they may not.
func metadataOf(t *rapid.T, label string) apiextensionsv1.JSONSchemaProps {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	known := map[string]apiextensionsv1.JSONSchemaProps{
		"name": text, "team": text, "labels": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}},
	}
	s := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"name", "team", "labels"}), 0, 3, rapid.ID[string]).Draw(t, label) {
		s.Properties[name] = known[name]
	}
	if rapid.Bool().Draw(t, label) {
		s.XPreserveUnknownFields = new(true)
	}
	return s
}

// AnyContent is an object without regard to a schema.
func AnyContent(t *rapid.T) map[string]any {
	content, _ := valueOf(t, depth+1, "fields").(map[string]any)
	return content
}

func valueOf(t *rapid.T, depth int, kind string) any {
	below := func() any {
		return valueOf(t, depth-1, rapid.SampledFrom([]string{"fields", "list", "string"}).Draw(t, "value"))
	}
	switch {
	case kind == "fields" && depth > 0:
		fields := map[string]any{}
		for _, name := range rapid.SliceOfNDistinct(names, 0, 4, rapid.ID[string]).Draw(t, "fields") {
			fields[name] = below()
		}
		return fields
	case kind == "list" && depth > 0:
		list := []any{}
		for range rapid.IntRange(0, 2).Draw(t, "items") {
			list = append(list, below())
		}
		return list
	}
	return rapid.SampledFrom([]string{"x", "y"}).Draw(t, "string")
}

// ContentOf is an object that a schema takes.
func ContentOf(t *rapid.T, s apiextensionsv1.JSONSchemaProps) any {
	drawn := func(label string) bool { return rapid.Bool().Draw(t, label) }
	switch s.Type {
	case "string":
		if s.Nullable && drawn("null") {
			return nil
		}
		return rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "string")
	case "integer":
		return int64(rapid.IntRange(0, 2).Draw(t, "integer"))
	case "array":
		list, item := []any{}, *s.Items.Schema
		item.XPreserveUnknownFields = cmp.Or(s.XPreserveUnknownFields, item.XPreserveUnknownFields) // a list keeps what its items do not name
		for range rapid.IntRange(0, 2).Draw(t, "items") {
			list = append(list, ContentOf(t, item))
		}
		return list
	}
	content := map[string]any{}
	for _, name := range []string{"a", "b", "c", "name", "team", "labels", "metadata"} {
		if property, named := s.Properties[name]; named && drawn("has "+name) {
			content[name] = ContentOf(t, property)
		}
	}
	switch {
	case s.XEmbeddedResource:
		content["apiVersion"], content["kind"], content["metadata"] = "v1", "ConfigMap", map[string]any{"name": "x"}
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil && drawn("more"):
		content["k.l"], content["m[0]"] = ContentOf(t, *s.AdditionalProperties.Schema), ContentOf(t, *s.AdditionalProperties.Schema)
	case s.AdditionalProperties != nil && drawn("more"):
		content["k"] = "x"
	case s.XPreserveUnknownFields != nil && drawn("more"):
		content["free"] = map[string]any{"deep": []any{"x"}}
		if _, named := s.Properties["metadata"]; !named && drawn("has metadata") {
			content["metadata"] = rapid.SampledFrom([]any{
				map[string]any{"name": "x", "creationTimestamp": nil}, map[string]any{"name": "x", "team": "y"}, map[string]any{"labels": map[string]any{}},
				map[string]any{"labels": map[string]any{"a": int64(1)}},
			}).Draw(t, "metadata")
		}
	}
	return content
}

// Successor is a schema with a few differences from another one: what an author changes from one version to the next.
func Successor(t *rapid.T, of apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	s := *of.DeepCopy()
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		switch rapid.SampledFrom([]string{"changed", "same", "forgotten"}).Draw(t, "successor") {
		case "changed":
			s.Properties[name] = Successor(t, changed(t, s.Properties[name]))
		case "forgotten":
			if !s.XEmbeddedResource || name != "c" { // it has to have one
				delete(s.Properties, name)
			}
		}
	}
	if s.Items != nil {
		s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: new(Successor(t, changed(t, *s.Items.Schema)))}
	}
	if more := s.AdditionalProperties; more != nil && more.Schema != nil {
		more.Schema = new(Successor(t, changed(t, *more.Schema)))
	}
	return s
}

func changed(t *rapid.T, s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	change := rapid.SampledFrom([]string{"none", "embeds", "keeps", "prunes", "null", "default"}).Draw(t, "change")
	fields := s.Type == "object" && s.AdditionalProperties == nil
	may := fields || s.Type == "array" // keep what the schema does not name
	switch {
	case change == "embeds" && fields:
		if s.XEmbeddedResource = !s.XEmbeddedResource; s.XEmbeddedResource { // its metadata is not for the schema to say
			s.XPreserveUnknownFields = new(true)
			delete(s.Properties, "metadata")
		}
	case change == "keeps" && may:
		s.XPreserveUnknownFields = new(true)
	case change == "prunes" && may && !s.XEmbeddedResource:
		s.XPreserveUnknownFields = nil
	case change == "null" && s.Type == "string":
		s.Nullable = !s.Nullable
	case change == "default" && s.Type == "string":
		s.Default = &apiextensionsv1.JSON{Raw: []byte(`"y"`)}
	}
	return s
}
