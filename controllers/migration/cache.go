package migration

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/words"
)

// stripper leaves of a CRD what is looked at, and as much of it as there has to be. Who may create CRDs, or patch their status, may write
// any length. The cache has read digests in place of the schemas, which are nearly all of it. It may be called twice for one CRD.
func stripper(labelKey string) func(any) (any, error) {
	return func(in any) (any, error) {
		if crd, ok := in.(*apiextensionsv1.CustomResourceDefinition); ok {
			*crd = *keptOf(crd, labelKey)
		}
		return in, nil
	}
}

const (
	// mostAllowed is how much is kept of an annotation that allows something, in characters. What is cut off is not allowed.
	mostAllowed = 16 << 10
	// mostNamed is how much is kept of a name.
	mostNamed = 253
)

func keptOf(crd *apiextensionsv1.CustomResourceDefinition, labelKey string) *apiextensionsv1.CustomResourceDefinition {
	is := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: crd.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: crd.Name, UID: crd.UID, ResourceVersion: crd.ResourceVersion, Generation: crd.Generation, DeletionTimestamp: crd.DeletionTimestamp,
			Labels: labelorigin.Labels(crd.Labels, labelKey), Annotations: labelorigin.Annotations(crd.Annotations, labelKey),
			ManagedFields: labelorigin.Entries(crd.ManagedFields, labelKey, v1alpha1.StorageMigrated),
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: crd.Spec.Group, Scope: crd.Spec.Scope, Names: setup.Names(crd), PreserveUnknownFields: crd.Spec.PreserveUnknownFields,
			Conversion: keptOfConversion(crd.Spec.Conversion),
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: words.Distinct(crd.Status.StoredVersions)},
	}
	for _, key := range []string{v1alpha1.PausedAnnotation, v1alpha1.AllowOwnershipLossAnnotation, v1alpha1.AllowFieldLossAnnotation} {
		if value, there := crd.Annotations[key]; there {
			is.Annotations[key] = words.Clip(value, mostAllowed)
		}
	}
	for _, v := range withFewSchemas(crd.Spec.Versions) {
		kept := apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated, Schema: v.Schema}
		if v.Subresources != nil && v.Subresources.Status != nil {
			kept.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: v.Subresources.Status}
		}
		is.Spec.Versions = append(is.Spec.Versions, kept)
	}
	for _, of := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.Established, v1alpha1.StorageMigrated, v1alpha1.StorageMigrating} {
		if c := apihelpers.FindCRDCondition(crd, of); c != nil {
			kept := *c
			kept.Message, kept.Reason = words.Clip(c.Message, 3*maxFailure), words.Clip(c.Reason, mostNamed) // Moult's own are shorter
			is.Status.Conditions = append(is.Status.Conditions, kept)
		}
	}
	return is
}

// mostSchemas is of how many versions a digest of the schema is kept each. Even with nothing but a digest in it, a schema takes 600 bytes
// in memory, and a CRD may have ten thousand versions. The next version has a digest of the others.
const mostSchemas = 100

// withFewSchemas leaves versions as they are whose schemas it has replaced before.
func withFewSchemas(versions []apiextensionsv1.CustomResourceDefinitionVersion) []apiextensionsv1.CustomResourceDefinitionVersion {
	if len(versions) <= mostSchemas+1 || versions[mostSchemas+1].Schema == nil {
		return versions
	}
	few, digest := slices.Clone(versions), sha256.New()
	for i, v := range few[mostSchemas:] {
		_ = json.NewEncoder(digest).Encode([]any{v.Name, v.Storage, v.Schema}) // a digest takes all
		few[mostSchemas+i].Schema = nil
	}
	bytes := setup.SchemaBytes(&apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: versions[mostSchemas:]}})
	few[mostSchemas].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: setup.SchemaDigest(digest.Sum(nil), bytes)}
	return few
}

// keptOfConversion has a digest of all that it says, without certificates, in the place of the versions of reviews.
func keptOfConversion(c *apiextensionsv1.CustomResourceConversion) *apiextensionsv1.CustomResourceConversion {
	if c == nil || c.Webhook == nil {
		return c
	}
	if of := c.Webhook.ConversionReviewVersions; len(of) == 1 && strings.HasPrefix(of[0], digestOf) {
		return c // it was called before
	}
	all := c.DeepCopy()
	kept := &apiextensionsv1.WebhookConversion{}
	if client := all.Webhook.ClientConfig; client != nil {
		client.CABundle = nil
		kept.ClientConfig = &apiextensionsv1.WebhookClientConfig{}
		if s := client.Service; s != nil {
			kept.ClientConfig.Service = &apiextensionsv1.ServiceReference{Namespace: words.Clip(s.Namespace, mostNamed), Name: words.Clip(s.Name, mostNamed)}
		}
	}
	digest := sha256.New()
	_ = json.NewEncoder(digest).Encode(all) // a digest takes all
	kept.ConversionReviewVersions = []string{digestOf + hex.EncodeToString(digest.Sum(nil))}
	return &apiextensionsv1.CustomResourceConversion{Strategy: c.Strategy, Webhook: kept}
}

// digestOf begins what stands in the place of the versions of reviews; no version has a colon.
const digestOf = "sha256:"

// shapeOf is a digest of what API servers read and store the objects of a CRD by. Certificates do not count. Each schema is a digest itself.
func shapeOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	digest := sha256.New()
	to := json.NewEncoder(digest)
	conversion := keptOfConversion(crd.Spec.Conversion)
	few := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: withFewSchemas(crd.Spec.Versions)}}
	stored := schemaAt(few, crds.StorageVersion(crd))                        // an API server that has not heard of a flip stores at another one, which may lack fields
	_ = to.Encode([]any{conversion, crd.Spec.PreserveUnknownFields, stored}) // a digest takes all
	for _, v := range few.Spec.Versions {
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
	return fmt.Sprintf("decoded, its schemas take as much memory as %.1f MB of ordinary ones, and Moult decodes %.1f MB: shorten lists such as anyOf, and nest fields less deeply",
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
