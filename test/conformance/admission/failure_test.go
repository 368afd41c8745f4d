package admission

import (
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/running"
)

// A policy that comes to an error, say because an API server of another version reads an expression otherwise, has not
// said that a write is fine. With failurePolicy: Ignore the write would go through: a version would be removed, or a label
// lost, that nobody has looked at. Here each policy as it is shipped gets a condition that divides by zero.
func TestAPolicyThatComesToAnErrorRefusesTheWrite(t *testing.T) {
	t.Parallel()
	buildStates(t)
	writes := map[string]string{
		statusPolicy:   "a person trims",
		optInPolicy:    "the label is lost",
		storagePolicy:  "the storage moves to a new version",
		removalPolicy:  "a removal that nobody has asked about",
		deletionPolicy: "a deletion",
	}
	shipped := render(t, denying)
	if keepsLabel(t) {
		writes["moult-keep-label"] = "the label is lost"
		shipped = append(shipped, render(t, keepingLabel)...)
	}
	policies := map[string]bool{}
	var broken []*unstructured.Unstructured
	for _, o := range shipped {
		name := o.GetName()
		policies[name] = true
		broken = append(broken, scope([]*unstructured.Unstructured{o}, "-broken", "'"+name+"-broken' in request.userInfo.groups && 1 / size('') == 1")...)
	}
	NewWithT(t).Expect(slices.Collect(maps.Keys(writes))).To(ConsistOf(slices.Collect(maps.Keys(policies))), "a write for each policy")
	install(t, broken)
	for policy, write := range writes {
		t.Run(policy, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(cases[write].play(t).err).NotTo(HaveOccurred(), "nothing else refuses it")
			g.Eventually(func() error { return cases[write].play(t, policy+"-broken").err }, running.Soon).
				Should(MatchError(And(ContainSubstring(policy+"-broken"), ContainSubstring("division by zero"))))
		})
	}
}

// taker is a policy that takes the label away once in a request, and leaves a mark. It is asked again when another has
// changed the object after it, so that it comes after the first round of ours, whichever of the two is asked first.
const taker = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: taker}
spec:
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
      - {apiGroups: [apiextensions.k8s.io], apiVersions: [v1], resources: [customresourcedefinitions], operations: [UPDATE]}
  matchConditions:
    - {name: once, expression: "!(has(object.metadata.annotations) && 'taken' in object.metadata.annotations)"}
  mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: >-
          object.metadata.?labels[?'moult.dev/migrate'].orValue('') != 'true' ? [] : [
          JSONPatch{op: 'remove', path: '/metadata/labels/' + jsonpatch.escapeKey('moult.dev/migrate')},
          JSONPatch{op: 'add', path: '/metadata/annotations', value: {'taken': 'once'}}]
`

const takerBinding = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: taker}
spec: {policyName: taker}
`

// A webhook or a policy that is asked after ours may take the label away again; with reinvocationPolicy: Never it would
// have the last word.
func TestTheLabelIsPutBackAfterAnotherHasTakenItAway(t *testing.T) {
	t.Parallel()
	if !keepsLabel(t) {
		return
	}
	k := keepLabel(t, "")
	merge("kubectl-label", `"true"`)(k)
	var another []*unstructured.Unstructured
	for _, manifest := range []string{taker, takerBinding} {
		o := &unstructured.Unstructured{}
		k.Expect(yaml.Unmarshal([]byte(manifest), &o.Object)).To(Succeed())
		another = append(another, o)
	}
	install(t, scope(another, "-"+k.bare.Spec.Names.Plural, "request.name == '"+k.bare.Name+"'"))
	k.Eventually(func() (map[string]string, error) {
		answer, err := k.crds.Patch(t.Context(), k.bare.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return nil, err
		}
		return answer.Annotations, nil
	}, running.Soon).Should(HaveKey("taken"))

	put(k)
	k.Expect(k.live().Annotations).To(HaveKey("taken"), "it was taken away")
	k.Expect(k.live().Labels).To(HaveKeyWithValue(v1alpha1.MigrateLabel, "true"), "and put back")
}
