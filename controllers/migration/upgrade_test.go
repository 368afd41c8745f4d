package migration_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/health"
)

// keepsObservedGeneration is the minor version of Kubernetes from which on a
// CRD's condition can have an observedGeneration.
const keepsObservedGeneration = 35

// Earlier versions of Moult wrote the condition with observedGeneration. Where
// the API server has kept it, it must not make the condition look outdated.
func TestTheObservedGenerationOfAnEarlierVersionGoes(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	err := w.applyAsBefore(v1alpha1.ReasonMigrating, "rewriting objects at v1")
	if cp.Minor < keepsObservedGeneration {
		w.Expect(err).To(MatchError(ContainSubstring("observedGeneration: field not declared in schema")), "why it is not sent")
	} else {
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(w.Condition().ObservedGeneration).To(Equal(w.Live().Generation))
	}
	w.controller(w.quick())
	w.eventuallyMigrated(10)
	w.Expect(w.Condition().ObservedGeneration).To(BeZero())

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Names.ShortNames = []string{"wdg"} })
	w.Eventually(func(g Gomega) {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.Live())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(health.CRD(object).Status).To(Equal(health.Healthy))
	}, soon).Should(Succeed())
	w.Expect(v1alpha1.SpeaksOf(w.Condition().Message, w.Live().Generation)).To(BeTrue())
}

// applyAsBefore applies the condition as earlier versions of Moult did.
func (w *world) applyAsBefore(reason, sentence string) error {
	generation := w.Live().Generation
	body := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":%q},"status":{"conditions":[
		{"type":%q,"status":"False","reason":%q,"message":%q,"lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":%d}]}}`,
		w.GR.String(), v1alpha1.StorageMigrated, reason, v1alpha1.Message(generation, sentence), generation)
	force := true
	_, err := w.CRDs().Patch(w.ctx, w.GR.String(), types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: v1alpha1.FieldManager, Force: &force}, "status")
	return err
}
