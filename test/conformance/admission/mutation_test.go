package admission

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// parts are the lists of a policy from which no entry may go missing without a case that notices.
var parts = []struct {
	name string
	of   func(spec map[string]any) []any
	// gone stands in for an entry, because most of the lists may not be empty.
	gone any
	// notices reports whether a case comes out as it must not: without a rule or a resource too little is denied, without
	// a condition too much.
	notices func(k kase, denied bool) bool
}{
	{
		name:    "rule",
		of:      func(spec map[string]any) []any { return spec["validations"].([]any) },
		gone:    map[string]any{"expression": "true"},
		notices: func(k kase, denied bool) bool { return k.breaks != "" && !denied },
	},
	{
		name: "resource",
		of: func(spec map[string]any) []any {
			rules := spec["matchConstraints"].(map[string]any)["resourceRules"].([]any)
			return rules[0].(map[string]any)["resources"].([]any)
		},
		gone:    "nothing",
		notices: func(k kase, denied bool) bool { return k.breaks != "" && !denied },
	},
	{
		name:    "condition",
		of:      func(spec map[string]any) []any { return spec["matchConditions"].([]any) },
		gone:    map[string]any{"name": "gone", "expression": "true"},
		notices: func(k kase, denied bool) bool { return k.breaks == "" && denied },
	},
}

// mutant is a policy without one entry of one of its lists.
type mutant struct {
	policy string
	name   string // unique, and the group of the users that it is in force for
	entry  any    // what it lacks
	// notices is the part's.
	notices func(k kase, denied bool) bool
	objects []*unstructured.Unstructured
}

func mutants(t *testing.T) (made []mutant) {
	t.Helper()
	shipped := render(t, denying)
	for _, policy := range shipped {
		if policy.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		for _, part := range parts {
			for i, entry := range part.of(policy.Object["spec"].(map[string]any)) {
				changed := policy.DeepCopy()
				part.of(changed.Object["spec"].(map[string]any))[i] = part.gone
				suffix := fmt.Sprintf("-without-%s-%d", part.name, i)
				name := policy.GetName() + suffix
				made = append(made, mutant{policy.GetName(), name, entry, part.notices,
					scope([]*unstructured.Unstructured{changed, bindingOf(t, shipped, policy)}, suffix, "'"+name+"' in request.userInfo.groups")})
			}
		}
	}
	return made
}

func TestEveryRuleIsHeldByACase(t *testing.T) {
	t.Parallel()
	buildStates(t)
	made := mutants(t)
	var objects []*unstructured.Unstructured
	for _, m := range made {
		objects = append(objects, m.objects...)
	}
	install(t, objects)
	for _, m := range made {
		t.Run(m.name, func(t *testing.T) {
			var noticed []string
			for name, k := range cases {
				if k.breaks != "" && k.breaks != m.policy {
					continue // another policy's
				}
				told := k.play(t, m.name)
				NewWithT(t).Expect(told.err).To(Or(BeNil(), MatchError(apierrors.IsForbidden, "IsForbidden")), name)
				if m.notices(k, told.err != nil) {
					noticed = append(noticed, name)
				}
			}
			NewWithT(t).Expect(noticed).NotTo(BeEmpty(), "no case comes out otherwise; add one that only this holds: %v", m.entry)
			t.Log("noticed by: " + strings.Join(noticed, "; "))
		})
	}
}

func bindingOf(t *testing.T, objects []*unstructured.Unstructured, policy *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		if name, bound, _ := unstructured.NestedString(o.Object, "spec", "policyName"); bound && name == policy.GetName() {
			return o
		}
	}
	t.Fatalf("%s is not bound", policy.GetName())
	return nil
}
