package fieldownership

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Types tell the lists that have keys from those that are one value, for the
// versions of one CRD.
type Types struct {
	crd       *apiextensionsv1.CustomResourceDefinition
	converter managedfields.TypeConverter
	err       error // why there is none
}

// NewTypes reads the schemas of a CRD. An error in them is one of every object.
func NewTypes(crd *apiextensionsv1.CustomResourceDefinition) *Types {
	converter, err := TypeConverterOf(crd)
	return &Types{crd, converter, err}
}

// TypeConverterOf is the one that the API server's field manager has for a CRD.
func TypeConverterOf(crd *apiextensionsv1.CustomResourceDefinition) (managedfields.TypeConverter, error) {
	models := map[string]*spec.Schema{}
	for _, v := range crd.Spec.Versions {
		model, err := modelOf(v)
		if err != nil {
			return nil, fmt.Errorf("schema of %s at %s: %w", crd.Name, v.Name, err)
		}
		model.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{
			"group": crd.Spec.Group, "version": v.Name, "kind": crd.Spec.Names.Kind,
		}})
		models[v.Name] = model
	}
	return managedfields.NewTypeConverter(models, crd.Spec.PreserveUnknownFields)
}

// modelOf is a version's schema as the API server's field manager has it.
func modelOf(v apiextensionsv1.CustomResourceDefinitionVersion) (*spec.Schema, error) {
	model := &spec.Schema{}
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		model.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		return model, nil
	}
	raw, err := json.Marshal(v.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, model); err != nil {
		return nil, err
	}
	addMeta(model)
	embed(model)
	return model, nil
}

// embed gives embedded resources the fields that no schema need mention
// (apiextensions-apiserver, openapi/builder, addEmbeddedProperties).
func embed(s *spec.Schema) {
	for name, property := range s.Properties {
		embed(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		embed(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		embed(s.AdditionalProperties.Schema)
	}
	if embedded, ok := s.Extensions.GetBool("x-kubernetes-embedded-resource"); ok && embedded {
		addMeta(s)
	}
}

func addMeta(s *spec.Schema) {
	open := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
	open.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	s.SetProperty("metadata", *open)
	s.SetProperty("apiVersion", *spec.StringProperty())
	s.SetProperty("kind", *spec.StringProperty())
}

// pruned is an object at a version of a CRD without a conversion webhook: the API
// server changes its apiVersion, and drops what that version has not.
func (t *Types) pruned(object *unstructured.Unstructured, apiVersion string) (*unstructured.Unstructured, error) {
	pruned := object.DeepCopy()
	pruned.SetAPIVersion(apiVersion)
	version := pruned.GroupVersionKind().Version
	at, err := apihelpers.GetSchemaForVersion(t.crd, version)
	if err != nil || at == nil || at.OpenAPIV3Schema == nil || t.crd.Spec.PreserveUnknownFields {
		return pruned, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(at.OpenAPIV3Schema, internal, nil); err != nil {
		return nil, err
	}
	schema, err := structural.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("schema of %s at %s: %w", t.crd.Name, version, err)
	}
	pruning.Prune(pruned.Object, schema, true)
	return pruned, nil
}

// typed is an object without its metadata.
func (t *Types) typed(object *unstructured.Unstructured) (*typed.TypedValue, error) {
	if t.err != nil {
		return nil, t.err
	}
	content := map[string]any{}
	for name, value := range object.Object {
		if name != "metadata" {
			content[name] = value
		}
	}
	return t.converter.ObjectToTyped(&unstructured.Unstructured{Object: content}, typed.AllowDuplicates)
}
