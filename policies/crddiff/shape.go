package crddiff

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
)

type (
	definition    = apiextensionsv1.CustomResourceDefinition
	versionOf     = apiextensionsv1.CustomResourceDefinitionVersion
	schema        = apiextensionsv1.JSONSchemaProps
	webhookClient = apiextensionsv1.WebhookClientConfig
)

// shapeOf is nil for no CRD.
func shapeOf(crd *definition, labelKey string) *Shape {
	if crd == nil {
		return nil
	}
	shape := &Shape{
		Group: crd.Spec.Group, Scope: string(crd.Spec.Scope), Versions: []Version{}, Conversion: string(strategyOf(crd)),
	}
	if value, ok := crd.Labels[labelKey]; ok {
		shape.Label = &value
	}
	for _, v := range distinct(crd) {
		shape.Versions = append(shape.Versions, Version{
			Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated, DeprecationWarning: ptr.Deref(v.DeprecationWarning, ""),
		})
		if v.Storage && shape.Storage == "" {
			shape.Storage = v.Name
		}
	}
	return shape
}

// Version finds one by its name.
func (s *Shape) Version(name string) (Version, bool) {
	if s == nil {
		return Version{}, false
	}
	i := slices.IndexFunc(s.Versions, func(v Version) bool { return v.Name == name })
	if i < 0 {
		return Version{}, false
	}
	return s.Versions[i], true
}

// Has reports whether there is a version of that name.
func (s *Shape) Has(name string) bool {
	_, ok := s.Version(name)
	return ok
}

// OptedIn reports whether Moult may migrate the CRD.
func (s *Shape) OptedIn() bool {
	return s != nil && s.Label != nil && *s.Label == v1alpha1.MigrateLabelValue
}

// strategyOf is None where nothing is said, as the API server defaults it.
func strategyOf(crd *definition) apiextensionsv1.ConversionStrategyType {
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy == "" {
		return apiextensionsv1.NoneConverter
	}
	return crd.Spec.Conversion.Strategy
}

// distinct leaves out versions that are there a second time, which no API server takes.
func distinct(crd *definition) []*versionOf {
	var firsts []*versionOf
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v == crds.Version(crd, v.Name) {
			firsts = append(firsts, v)
		}
	}
	return firsts
}

// schemaOf is nil when the version has none.
func schemaOf(v *versionOf) *schema {
	if v == nil || v.Schema == nil {
		return nil
	}
	return v.Schema.OpenAPIV3Schema
}
