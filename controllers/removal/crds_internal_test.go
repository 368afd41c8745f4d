package removal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/verdict"
)

// one is an API server that has one CRD.
type one struct {
	client.Reader
	crd *apiextensionsv1.CustomResourceDefinition
}

func (o one) Get(_ context.Context, _ types.NamespacedName, into client.Object, _ ...client.GetOption) error {
	if crd, whole := into.(*apiextensionsv1.CustomResourceDefinition); whole {
		o.crd.DeepCopyInto(crd)
	}
	return nil
}

// A CRD is read because a VersionRemoval names it, and a tenant may make one for each CRD of the cluster.
func TestWhatIsKeptOfACRD(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("x", 100<<10)
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: "widgets.example.com", UID: "u", Generation: 3, ResourceVersion: "7", Labels: map[string]string{v1alpha1.MigrateLabel: "true", fluxName: "crds", fluxNamespace: "flux-system", "example.com/any": "x"},
		Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: `{"metadata":{"labels":{"moult.dev/migrate":"true"}},"spec":"` + long + `"}`,
			"example.com/load":                 long, v1alpha1.GateNamespacesAnnotation: "team-a", v1alpha1.BackupAnnotation: "b",
		},
		ManagedFields: []metav1.ManagedFieldsEntry{
			entry("argocd-controller", "", `{"f:metadata":{"f:labels":{"f:`+long+`":{},"f:moult.dev/migrate":{}}},"f:spec":{"f:`+long+`":{}}}`),
			entry("kustomize-controller", "", `{"f:metadata":{"f:labels":{"f:`+long+`":{}}}}`),
			entry("other", "", `{"f:spec":{"f:`+long+`":{}}}`),
			entry(v1alpha1.FieldManager, "status", `{"f:status":{"f:conditions":{"k:{\"type\":\"VersionsRemovable\"}":{".":{},"f:status":{},"f:reason":{},"f:message":{}},"k:{\"type\":\"`+long+`\"}":{".":{}}}}}`),
		},
	}, Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget", ListKind: "WidgetList"},
		Versions:   []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Storage: true, Served: true, Schema: &apiextensionsv1.CustomResourceValidation{}}},
		Conversion: &apiextensionsv1.CustomResourceConversion{Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte(long)}}},
	}, Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1alpha1", "v1"}, Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: "Any", Message: long}, {Type: v1alpha1.VersionsRemovable, Status: apiextensionsv1.ConditionTrue, Message: v1alpha1.Message(3, "v1alpha1")},
	}}}
	kept, err := newCRDReader(one{crd: crd}, clock.RealClock{}, v1alpha1.MigrateLabel).GetNow(t.Context(), crd.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept.Spec.Versions[0].Schema).To(BeNil())
	g.Expect(kept.Annotations).To(And(HaveKeyWithValue(v1alpha1.GateNamespacesAnnotation, "team-a"), HaveKeyWithValue(v1alpha1.BackupAnnotation, "b")))
	g.Expect(kept.Annotations).To(HaveEach(WithTransform(func(value string) int { return len(value) }, BeNumerically("<", 1024))))
	g.Expect(kept.Labels).NotTo(HaveKey("example.com/any"), "there may be a hundred thousand")
	g.Expect(kept.Size()).To(BeNumerically("<", 4<<10), "of %d bytes", crd.Size())
	g.Expect(crds.CalledRemovable(kept)).To(Equal([]string{"v1alpha1"}))
	g.Expect(crds.Says(kept.ManagedFields, v1alpha1.FieldManager, v1alpha1.VersionsRemovable)).To(BeTrue())
	g.Expect(labelorigin.Of(kept, v1alpha1.MigrateLabel)).To(Equal(labelorigin.Of(crd, v1alpha1.MigrateLabel)))
	g.Expect(verdict.Describe(kept, v1alpha1.MigrateLabel, nil)).To(Equal(verdict.Describe(crd, v1alpha1.MigrateLabel, nil)))
	g.Expect(survivors.TargetOf(kept, []string{"v1alpha1"}, nil)).To(Equal(survivors.TargetOf(crd, []string{"v1alpha1"}, nil)))
}

func entry(manager, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

// A client that may patch the status of CRDs may write any length there.
func TestWhatIsKeptOfTheStatusOfACRDIsBounded(t *testing.T) {
	g := NewWithT(t)
	version := func(name string) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{Name: name}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com", Generation: 3}}
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget", ShortNames: slices.Repeat([]string{"w"}, 5000)}
	for i := range 100 {
		crd.Spec.Versions = append(crd.Spec.Versions, version(fmt.Sprintf("v%d", i+1)))
	}
	crd.Status.StoredVersions = slices.Repeat([]string{"v1", "v2"}, 5000)
	kept := func(sentence string) *apiextensionsv1.CustomResourceDefinition {
		crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{
			Type: v1alpha1.VersionsRemovable, Status: apiextensionsv1.ConditionTrue, Reason: sentence, Message: v1alpha1.Message(3, sentence)}}
		return newCRDReader(nil, clock.RealClock{}, v1alpha1.MigrateLabel).keptOf(crd)
	}
	is := kept(strings.Repeat("x", 30<<10))
	g.Expect(is.Size()).To(BeNumerically("<", 4<<10), "of %d bytes", crd.Size())
	g.Expect(is.Status.StoredVersions).To(Equal([]string{"v1", "v2"}))
	g.Expect(crds.CalledRemovable(is)).NotTo(Equal(crds.CalledRemovable(crd)), "so it is written anew")

	is = kept(strings.Join(crds.Versions(crd), ", "))
	g.Expect(crds.CalledRemovable(is)).To(Equal(crds.Versions(crd)), "Moult's own is kept whole")
}
