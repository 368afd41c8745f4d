package migration

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
)

// newScheme knows CRDs and nothing else.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, apiextensionsv1.AddToScheme(scheme)
}

// newCache watches the CRDs that carry the label and nothing else. It is a cache
// of its own, so that an operator's manager need not know about CRDs and its
// cache options need not suit us.
func newCache(mgr manager.Manager, opts Options) (cache.Cache, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	return cache.New(mgr.GetConfig(), cache.Options{
		Scheme: scheme, HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			&apiextensionsv1.CustomResourceDefinition{}: {
				Label:     labels.SelectorFromSet(labels.Set{opts.LabelKey: v1alpha1.MigrateLabelValue}),
				Transform: stripper(opts.FieldManager, opts.LabelKey),
			},
		},
	})
}

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
