package doctor

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// shipped is the policy that guards the status and its binding, as people install them.
func shipped(t *testing.T) (policy admissionv1.ValidatingAdmissionPolicy, binding admissionv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	g := NewWithT(t)
	raw, err := os.ReadFile("../admission/base/status.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	first, second, found := strings.Cut(string(raw), "\n---\n")
	g.Expect(found).To(BeTrue())
	g.Expect(yaml.UnmarshalStrict([]byte(first), &policy)).To(Succeed())
	g.Expect(yaml.UnmarshalStrict([]byte(second), &binding)).To(Succeed())
	binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Deny, admissionv1.Audit}
	return policy, binding
}

func TestWhichPoliciesGuardTheStatus(t *testing.T) {
	type (
		policy  = admissionv1.ValidatingAdmissionPolicy
		binding = admissionv1.ValidatingAdmissionPolicyBinding
	)
	for name, c := range map[string]struct {
		change func(*policy, *binding)
		want   []Guard
	}{
		"as it is shipped": {want: []Guard{{"moult-status", controller}}},
		"for another user": {func(p *policy, _ *binding) { p.Spec.Variables[0].Expression = "'system:serviceaccount:platform:moult'" },
			[]Guard{{"moult-status", "system:serviceaccount:platform:moult"}}},
		"under another name": {func(p *policy, b *binding) {
			p.Name, b.Name, b.Spec.PolicyName = "a-moult-status", "x", "a-moult-status"
		},
			[]Guard{{"a-moult-status", controller}}},
		"with a warning only": {func(_ *policy, b *binding) {
			b.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Warn}
		}, nil},
		"bound to nothing":      {func(_ *policy, b *binding) { b.Spec.PolicyName = "another" }, nil},
		"for another label":     {func(p *policy, _ *binding) { p.Spec.MatchConditions[0].Expression = "'example.com/migrate' in object" }, nil},
		"of another resource":   {func(p *policy, _ *binding) { p.Spec.MatchConstraints.ResourceRules[0].Resources = []string{"pods"} }, nil},
		"of no resource":        {func(p *policy, _ *binding) { p.Spec.MatchConstraints = nil }, nil},
		"a user from elsewhere": {func(p *policy, _ *binding) { p.Spec.Variables[0].Expression = "params.data.user" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, b := shipped(t)
			if c.change != nil {
				c.change(&p, &b)
			}
			NewWithT(t).Expect(GuardsIn([]policy{p}, []binding{b}, v1alpha1.MigrateLabel)).To(Equal(c.want))
		})
	}
}
