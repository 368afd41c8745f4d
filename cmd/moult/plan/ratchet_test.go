package plan

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/builders"
)

const (
	lenient = `{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`
	strict  = `{type: object, properties: {spec: {type: object, properties: {
		type: {type: string}, enum: {type: string, enum: [red, blue]}, pattern: {type: string, pattern: "^[a-z]+$"}, bound: {type: integer, maximum: 5},
		rule: {type: object, x-kubernetes-validations: [{rule: "self.low <= self.high", message: "low is at most high"}], properties: {low: {type: integer}, high: {type: integer}}}}}}}`
)

// What the schema refuses, the API server lets pass as long as no write changes it. So the flip does not fail, and a later edit does:
// each such value is named with the object, whichever way the plan leads.
func TestWhatOnlyRatchetingLetsPassIsNamed(t *testing.T) {
	t.Parallel()
	bad := map[string]struct{ spec, next map[string]any }{ // each is against the schema, as what comes next is
		"type":    {map[string]any{"type": int64(7)}, map[string]any{"type": int64(8)}},
		"enum":    {map[string]any{"enum": "green"}, map[string]any{"enum": "yellow"}},
		"pattern": {map[string]any{"pattern": "A1"}, map[string]any{"pattern": "A2"}},
		"bound":   {map[string]any{"bound": int64(6)}, map[string]any{"bound": int64(7)}},
		"rule":    {map[string]any{"rule": map[string]any{"low": int64(2), "high": int64(1)}}, map[string]any{"rule": map[string]any{"low": int64(3), "high": int64(1)}}},
	}
	for _, way := range []struct {
		to   string
		args []string
	}{{"v1alpha1", []string{"--back-to", "v1alpha1"}}, {"v1", []string{"--rehearse"}}} {
		t.Run("to "+way.to, func(t *testing.T) {
			t.Parallel()
			group, from := builders.UniqueGroup(t), map[string]string{"v1": "v1alpha1", "v1alpha1": "v1"}[way.to]
			r := &releases{World: suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage(from).Schema(from, lenient).Schema(way.to, strict).Label(group+"/migrate", "true"))}
			for name, c := range bad {
				_, err := r.Objects(from).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": group + "/" + from, "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": c.spec,
				}}, metav1.CreateOptions{})
				r.Expect(err).NotTo(HaveOccurred())
			}
			p, err := plan(r.World, way.args...)
			r.Expect(err).NotTo(HaveOccurred())
			step := p.Steps[slices.IndexFunc(p.Steps, func(s runbook.Step) bool { return s.Name == runbook.Rehearse })]
			r.Expect(step.State).To(Equal(runbook.Advised))
			r.Expect(step.Seen).To(HavePrefix("5 objects: "))
			for name := range bad {
				r.Expect(step.Seen).To(MatchRegexp(`refused once a write changes it: spec\.%s: [^;]+ of 1 object, for example default/%[1]s`, name))
			}
			r.Expect(p.Next).To(Equal(runbook.Flip), "it holds nothing up")

			r.Flip(way.to)
			for name, c := range bad {
				objects := r.Objects(way.to)
				_, err := objects.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"a"}}}`), metav1.PatchOptions{})
				r.Expect(err).NotTo(HaveOccurred(), "the API server lets it pass: %s", name)
				live, err := objects.Get(t.Context(), name, metav1.GetOptions{})
				r.Expect(err).NotTo(HaveOccurred())
				live.Object["spec"] = c.next
				_, err = objects.Update(t.Context(), live, metav1.UpdateOptions{})
				r.Expect(err).To(MatchError(ContainSubstring(fmt.Sprintf("spec.%s", name))), "and an edit fails")
			}
		})
	}
}
