package migration

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
)

// stripper drops from a CRD what we never look at, above all the schemas, which
// are nearly all of it.
func stripper(fieldManager, labelKey string) func(any) (any, error) {
	return func(in any) (any, error) {
		crd, ok := in.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			return in, nil
		}
		crd.ManagedFields = slices.DeleteFunc(crd.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager != fieldManager && !labelorigin.Needs(e, labelKey) && !crds.OwnsField(e, "spec", "versions")
		})
		ours := only(crd.Annotations, v1alpha1.PausedAnnotation, v1alpha1.AllowOwnershipLossAnnotation, v1alpha1.AllowFieldLossAnnotation)
		crd.Annotations = labelorigin.Annotations(crd.Annotations, labelKey)
		maps.Copy(crd.Annotations, ours)
		for i, v := range crd.Spec.Versions {
			crd.Spec.Versions[i] = apiextensionsv1.CustomResourceDefinitionVersion{
				Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated, Subresources: v.Subresources,
			}
		}
		if c := crd.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil {
			c.Webhook.ClientConfig.CABundle = nil
		}
		return crd, nil
	}
}

func only(m map[string]string, keys ...string) map[string]string {
	kept := map[string]string{}
	for _, k := range keys {
		if v, ok := m[k]; ok {
			kept[k] = v
		}
	}
	return kept
}
