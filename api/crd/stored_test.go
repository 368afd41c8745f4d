package crd

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// trimmed is a CRD of which somebody says that all objects are stored at v1.
func trimmed(by string, generation int64) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Generation, crd.Labels = 3, map[string]string{v1alpha1.MigrateLabel: "true"}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1"}, {Name: "v1beta1", Served: true}, {Name: "v1", Served: true, Storage: true}}
	crd.Status.StoredVersions = []string{"v1"}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: v1alpha1.StorageMigrated, Status: apiextensionsv1.ConditionTrue,
		Reason: v1alpha1.ReasonMigrated, Message: v1alpha1.Message(generation, "every object is proved to be stored at v1")}}
	crd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: by, Operation: apply, Subresource: "status",
		FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"StorageMigrated\"}":{".":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`)}}
	return crd
}

func TestStoredVersionsAreBelievedWithAProofOnly(t *testing.T) {
	all := []string{"v1alpha1", "v1beta1", "v1"}
	unlabelled := trimmed(v1alpha1.FieldManager, 3)
	unlabelled.Labels = nil
	for name, c := range map[string]struct {
		crd  *apiextensionsv1.CustomResourceDefinition
		want []string
	}{
		"Moult's own proof":                     {trimmed(v1alpha1.FieldManager, 3), []string{"v1"}},
		"the proof of an earlier generation":    {trimmed(v1alpha1.FieldManager, 2), all},
		"what another manager says":             {trimmed("kube-controller-manager", 3), all},
		"what Moult said before the label went": {unlabelled, all},
		"a list that somebody trimmed, no proof": {func() *apiextensionsv1.CustomResourceDefinition {
			c := trimmed("moult", 3)
			c.Status.Conditions = nil
			return c
		}(), all},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(MayBeStoredAt(c.crd, v1alpha1.MigrateLabel)).To(Equal(c.want))
		})
	}
}

func TestHiddenVersions(t *testing.T) {
	g, crd := NewWithT(t), trimmed("moult", 3)
	g.Expect(IsHidden(crd, "v1alpha1")).To(BeTrue())
	g.Expect(IsHidden(crd, "v1beta1")).To(BeFalse(), "it is served")
	g.Expect(IsHidden(crd, "v0")).To(BeFalse(), "the CRD does not have it")
	crd.Status.StoredVersions = []string{"v1alpha1", "v1"}
	g.Expect(IsHidden(crd, "v1alpha1")).To(BeFalse(), "the list names it")

	at := func(version string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{APIVersion: "example.com/" + version}}
	}
	g.Expect(WrittenAt(crd, at("v1alpha1"), "v1alpha1")).To(BeTrue())
	g.Expect(WrittenAt(crd, at("v0"), "v1alpha1")).To(BeTrue(), "it has left")
	g.Expect(WrittenAt(crd, nil, "v1alpha1")).To(BeTrue(), "nothing is known")
	g.Expect(WrittenAt(crd, at("v1"), "v1alpha1")).To(BeFalse())
}
