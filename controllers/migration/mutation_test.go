package migration_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/webhooks"
)

// hasMutatingAdmissionPolicy is the minor version of Kubernetes from which on the
// API server mutates by itself; before, it takes a webhook.
const hasMutatingAdmissionPolicy = 36

// Something that changes every object at every write makes each of our empty
// writes a real one. That must not look like objects that are stale for ever.
func TestAMutationAtEveryWriteDoesNotKeepTheProofFromEnding(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 30)
	if cp.Minor >= hasMutatingAdmissionPolicy {
		w.stampEveryUpdate()
	} else {
		webhooks.Stamping(t, cp.Config, w.GR.WithVersion("v1"), webhooks.EachTime(), "object-00000")
	}
	w.controller(w.quick())
	w.eventuallyMigrated(30)
	w.Expect(w.Condition().Message).To(ContainSubstring("30 of 30 objects, 0 failed"))
	w.Expect(w.Writes()).To(BeNumerically("<=", 30*4), "a walk that rewrites, one that checks, and the question once more")
	w.looksAgain()
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonMigrated))
}

// stampEveryUpdate has the API server itself put a new annotation on every
// update of the world's objects.
func (w *world) stampEveryUpdate() {
	w.t.Helper()
	w.mutateEveryUpdate(admissionregistrationv1.Mutation{
		PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
		ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{
			Expression: `Object{metadata: Object.metadata{annotations: {"stamp": oldObject.metadata.resourceVersion}}}`,
		},
	})
	w.Eventually(func() string { // the API server has to notice the policy
		return w.stampOf("object-00000")
	}, soon).ShouldNot(BeEmpty())
}

// mutateEveryUpdate has a policy change every update of the world's objects.
func (w *world) mutateEveryUpdate(mutation admissionregistrationv1.Mutation) {
	w.t.Helper()
	client := kubernetes.NewForConfigOrDie(cp.Config).AdmissionregistrationV1()
	name := "mutate." + w.GR.Group
	_, err := client.MutatingAdmissionPolicies().Create(w.ctx, &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{w.GR.Group}, APIVersions: []string{"*"}, Resources: []string{"*"}},
				}}},
			},
			Mutations: []admissionregistrationv1.Mutation{mutation},
		},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = client.MutatingAdmissionPolicyBindings().Create(w.ctx, &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() {
		_ = client.MutatingAdmissionPolicyBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = client.MutatingAdmissionPolicies().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

// stampOf writes an object and returns the stamp it got.
func (w *world) stampOf(name string) string {
	object, err := w.Objects("v1").
		Patch(w.ctx, name, types.MergePatchType, []byte(`{"spec":{"size":1}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return "" // policies need the schema of a new CRD, which takes a moment
	}
	return object.GetAnnotations()["stamp"]
}
