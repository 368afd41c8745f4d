package migration_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

// Any plain write to an object whose managedFields name a version that the CRD
// no longer lists makes the API server forget who owns what. The walk must not
// be such a write.
func TestOwnershipSurvivesAWalkAfterTheVersionIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Build())
	w.Expect(w.applySpec("v1alpha1", "old-tool", "applied", spec{"payload": "small"})).To(Succeed())
	w.Expect(builders.RemoveVersion(w.ctx, cp.Config, w.crd.Name, "v1alpha1")).To(Succeed(), "nothing is stored at v1alpha1")
	w.Expect(w.managers()).To(Equal(map[string]string{"old-tool": w.GR.Group + "/v1alpha1"}))

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Labels = map[string]string{v1alpha1.MigrateLabel: "true"}
	})
	w.controller(w.quick())
	w.eventuallyMigrated(1)
	w.Expect(w.managers()).To(Equal(map[string]string{"old-tool": w.GR.Group + "/v1"}))
	w.Expect(w.applySpec("v1", "old-tool", "applied", spec{"payload": "large"})).To(Succeed())
	w.Expect(w.managers()).To(HaveKey("old-tool"))
}

// managers are the field managers of the object "applied", each with the
// apiVersion of its entry.
func (w *world) managers() map[string]string {
	w.t.Helper()
	object, err := w.Objects("v1").Get(w.ctx, "applied", metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	managers := map[string]string{}
	for _, entry := range object.GetManagedFields() {
		managers[entry.Manager] = entry.APIVersion
	}
	return managers
}
