package install

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/moult-dev/moult/test/running"
)

// refuseWrites installs a policy that refuses every write of one object, and waits until it is in force.
func refuseWrites(t *testing.T, w *running.Witness, name string) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	admission := kubernetes.NewForConfigOrDie(cp.Config).AdmissionregistrationV1()
	policyName := "refuse." + w.GR.Group
	rule := admissionv1.Rule{APIGroups: []string{w.GR.Group}, APIVersions: []string{"*"}, Resources: []string{w.GR.Resource, w.GR.Resource + "/status"}}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policyName},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{Operations: []admissionv1.OperationType{admissionv1.Update}, Rule: rule},
			}}},
			Validations: []admissionv1.Validation{{Expression: fmt.Sprintf("object.metadata.name != %q", name)}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policyName},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policyName, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	_, err := admission.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = admission.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error {
		_, err := w.Objects("v1").Patch(ctx, name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}, running.Soon).Should(MatchError(ContainSubstring(policyName)))
}
