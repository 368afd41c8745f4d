package doctor

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// Guard is a policy as policies/admission/base/status.yaml, or a copy of it, that is bound to refuse.
type Guard struct {
	Policy string
	// User is who alone may write the conditions.
	User string
}

const (
	guardedResource = "customresourcedefinitions/status"
	// guardVariable holds the user's name, in quotes.
	guardVariable = "moult"
)

// GuardsIn finds them among all policies, for CRDs that the label opts in. A binding that warns refuses nothing.
func GuardsIn(policies []admissionv1.ValidatingAdmissionPolicy, bindings []admissionv1.ValidatingAdmissionPolicyBinding, labelKey string) (guards []Guard) {
	for i := range policies {
		policy := &policies[i]
		user, ok := guardOf(policy, labelKey)
		refuses := slices.ContainsFunc(bindings, func(b admissionv1.ValidatingAdmissionPolicyBinding) bool {
			return b.Spec.PolicyName == policy.Name && slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
		})
		if ok && refuses {
			guards = append(guards, Guard{Policy: policy.Name, User: user})
		}
	}
	return guards
}

// guardOf is the user that the policy lets write. A policy that is of another shape is somebody else's.
func guardOf(policy *admissionv1.ValidatingAdmissionPolicy, labelKey string) (user string, ok bool) {
	m := policy.Spec.MatchConstraints
	if m == nil || !slices.ContainsFunc(m.ResourceRules, func(r admissionv1.NamedRuleWithOperations) bool { return slices.Contains(r.Resources, guardedResource) }) {
		return "", false
	}
	if !slices.ContainsFunc(policy.Spec.MatchConditions, func(c admissionv1.MatchCondition) bool { return strings.Contains(c.Expression, "'"+labelKey+"'") }) {
		return "", false
	}
	for _, v := range policy.Spec.Variables {
		name := strings.Trim(v.Expression, "'")
		if v.Name == guardVariable && v.Expression == "'"+name+"'" {
			return name, true
		}
	}
	return "", false
}
