package migration

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/labelorigin"
)

// stripper drops from a CRD what we never look at. The cache has read digests in place of the schemas, which are nearly all of it.
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
		crd.Labels = labelorigin.Labels(crd.Labels, labelKey)
		for i, v := range crd.Spec.Versions {
			crd.Spec.Versions[i] = apiextensionsv1.CustomResourceDefinitionVersion{
				Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated, Subresources: v.Subresources, Schema: v.Schema,
			}
		}
		if c := crd.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil {
			c.Webhook.ClientConfig.CABundle = nil
		}
		return crd, nil
	}
}

// shapeOf is a digest of what API servers read and store the objects of a CRD by. Certificates do not count. Each schema is a digest itself.
func shapeOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	digest := sha256.New()
	to := json.NewEncoder(digest)
	conversion := crd.Spec.Conversion.DeepCopy()
	if conversion != nil && conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil {
		conversion.Webhook.ClientConfig.CABundle = nil
	}
	stored := schemaAt(crd, crds.StorageVersion(crd))                        // an API server that has not heard of a flip stores at another one, which may lack fields
	_ = to.Encode([]any{conversion, crd.Spec.PreserveUnknownFields, stored}) // a digest takes all
	for _, v := range crd.Spec.Versions {
		_ = to.Encode([]any{v.Name, v.Schema})
	}
	return hex.EncodeToString(digest.Sum(nil))
}

var crdsResource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// mostOfSchemas is how long the schemas of a CRD may be that are decoded, in bytes of ordinary ones: as much as etcd takes of an object.
const mostOfSchemas = 3 << 19

// tooManySchemas is why a CRD is not decoded.
type tooManySchemas struct{ bytes int }

func (e *tooManySchemas) Error() string {
	return fmt.Sprintf("decoded, its schemas take as much memory as %.1f MB of ordinary ones, and Moult decodes %.1f MB: make lists such as anyOf in them shorter",
		float64(e.bytes)/1e6, mostOfSchemas/1e6)
}

// whole reads a CRD with its schemas, which neither the cache nor the other client has, when there is room to decode it. The error is a
// *tooManySchemas if there never is.
func (r *Reconciler) whole(ctx context.Context, name string, take func(*apiextensionsv1.CustomResourceDefinition) error) error {
	return rewrite.Retry{Clock: r.opts.Clock}.Do(ctx, func() error {
		return r.objects.TakeWhole(ctx, crdsResource, types.NamespacedName{Name: name}, func(raw []byte) error {
			if length := setup.SchemaBytesIn(raw); length > mostOfSchemas {
				return &tooManySchemas{length}
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := utiljson.Unmarshal(raw, crd); err != nil {
				return err
			}
			if crd.ResourceVersion == "" {
				return rewrite.ErrNoAnswer
			}
			return take(crd)
		})
	})
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
