package migration

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/labelorigin"
)

// laden is a CRD whose author has made all that may be long as long as the API server takes it.
func laden() *apiextensionsv1.CustomResourceDefinition {
	long := strings.Repeat("x", 200<<10)
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: "widgets.example.com", UID: "u", Generation: 3, Labels: map[string]string{v1alpha1.MigrateLabel: "true", "any": "x"},
			Annotations: map[string]string{"any": long, v1alpha1.PausedAnnotation: "true", v1alpha1.AllowFieldLossAnnotation: "spec.a," + long},
			Finalizers:  []string{"example.com/" + long}, OwnerReferences: []metav1.OwnerReference{{Name: long}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				entry("argocd-controller", "", `{"f:metadata":{"f:labels":{"f:`+long+`":{},"f:moult.dev/migrate":{}}}}`),
				entry("operator", "", `{"f:spec":{"f:versions":{}, "f:`+long+`":{}}}`),
				entry("forged", "", `{"f:metadata":{"f:labels":{"f:moult.dev/migrate":{}}},"f:`+long+long+`":{}}`),
				entry(v1alpha1.FieldManager, "status", `{"f:status":{"f:storedVersions":{},"f:conditions":{"k:{\"type\":\"StorageMigrated\"}":{".":{},"f:status":{},"f:reason":{},"f:message":{}}}}}`),
			},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget", ListKind: "WidgetList", Categories: strings.Split(long, "")},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Storage: true, Served: true, Subresources: &apiextensionsv1.CustomResourceSubresources{
				Status: &apiextensionsv1.CustomResourceSubresourceStatus{}, Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: long}}}},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: strings.Split(long, ""), ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte(long), Service: &apiextensionsv1.ServiceReference{Namespace: "ns", Name: "convert", Path: &long}}}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			AcceptedNames: apiextensionsv1.CustomResourceDefinitionNames{Categories: strings.Split(long, "")}, StoredVersions: strings.Split(long, ""),
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: "True"}, {Type: "Any", Message: long},
				{Type: v1alpha1.StorageMigrated, Status: "True", Message: long}, {Type: v1alpha1.StorageMigrating, Status: "True", Message: long}},
		},
	}
	for i := range 1000 {
		crd.ManagedFields = append(crd.ManagedFields, entry(fmt.Sprint("forged-", i), "", `{"f:metadata":{"f:labels":{"f:moult.dev/migrate":{}}}}`))
	}
	return crd
}

func TestOfACRDNoMoreIsKeptThanIsLookedAt(t *testing.T) {
	g := NewWithT(t)
	crd := laden()
	kept := keptOf(crd, v1alpha1.MigrateLabel)
	g.Expect(kept.Size()).To(BeNumerically("<", 100<<10), "of %d bytes", crd.Size())
	g.Expect(crds.Says(kept.ManagedFields, v1alpha1.FieldManager, v1alpha1.StorageMigrated)).To(BeTrue())
	g.Expect(flippedBy(kept)).To(Equal(flippedBy(crd)))
	g.Expect(crds.StoredVersionsBy(kept.ManagedFields)).To(Equal(v1alpha1.FieldManager))
	g.Expect(labelorigin.Of(kept, v1alpha1.MigrateLabel)).To(Equal(labelorigin.Of(crd, v1alpha1.MigrateLabel)))
	g.Expect(kept.Status.Conditions).To(HaveLen(3), "an in-tree migration is waited for")
	g.Expect(crds.HasStatus(kept, "v1")).To(BeTrue())
	g.Expect(crds.HasWebhook(kept)).To(BeTrue())
	g.Expect(webhookName(kept)).To(Equal(" (service ns/convert)"))
	g.Expect(mayDrop(kept.Annotations)).To(HaveLen(2))
	g.Expect(mayDrop(kept.Annotations)[0]).To(Equal("spec.a"))

	g.Expect(shapeOf(kept)).To(Equal(shapeOf(crd)))
	g.Expect(keptOf(kept, v1alpha1.MigrateLabel)).To(Equal(kept), "an informer may strip one twice")
	crd.Spec.Conversion.Webhook.ConversionReviewVersions[7] = "y"
	g.Expect(shapeOf(keptOf(crd, v1alpha1.MigrateLabel))).NotTo(Equal(shapeOf(kept)), "all of a conversion counts")
}

func TestOfAThousandVersionsFewSchemasAreKept(t *testing.T) {
	g := NewWithT(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	for i := range 1000 {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: fmt.Sprint("v", i+1), Storage: i == 800, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: setup.SchemaDigest([]byte{byte(i)}, 10)}})
	}
	kept := keptOf(crd, v1alpha1.MigrateLabel)
	of := 0
	for _, v := range kept.Spec.Versions {
		if v.Schema != nil {
			of++
		}
	}
	g.Expect(of).To(Equal(mostSchemas + 1))
	g.Expect(crds.Versions(kept)).To(Equal(crds.Versions(crd)), "each version counts, for a gate above all")
	g.Expect(setup.SchemaBytes(kept)).To(Equal(10_000), "room is made for all of them")
	g.Expect(keptOf(kept, v1alpha1.MigrateLabel)).To(Equal(kept), "an informer may strip one twice")
	was := shapeOf(kept)
	g.Expect(was).To(Equal(shapeOf(crd)))

	crd.Spec.Versions[999].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: setup.SchemaDigest([]byte("changed"), 10)}
	changed := shapeOf(keptOf(crd, v1alpha1.MigrateLabel))
	g.Expect(changed).NotTo(Equal(was), "all schemas count")
	crd.Spec.Versions[800].Storage, crd.Spec.Versions[801].Storage = false, true
	g.Expect(shapeOf(keptOf(crd, v1alpha1.MigrateLabel))).NotTo(Equal(changed), "a flip counts")
}
