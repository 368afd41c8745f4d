package removal_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// A field that only x-kubernetes-preserve-unknown-fields or spec.preserveUnknownFields keeps has its owner at v1, too: what
// flux leaves out goes away.
func TestOwnershipOfWhatNoSchemaNamesIsKept(t *testing.T) {
	const keeps = ", x-kubernetes-preserve-unknown-fields: true"
	const parts = "type: object\nproperties: {spec: {type: object, properties: {parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], " +
		"items: {type: object, required: [name], properties: {name: {type: string}}}"
	for name, c := range map[string]struct {
		schema string
		all    bool // the CRD keeps what no schema knows
	}{
		"a list that keeps it": {schema: parts + keeps + "}}}}\n"},
		"a CRD that keeps it":  {schema: parts + "}}}}\n", all: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Schema("v1alpha1", c.schema).Schema("v1", c.schema).Build()
			w := running.Install(t, cp, crd)
			if c.all {
				w.KeepAll()
			}
			apply := func(version string, part map[string]any) *unstructured.Unstructured {
				t.Helper()
				body, _ := json.Marshal(map[string]any{"apiVersion": w.GR.Group + "/" + version, "kind": "Widget",
					"metadata": map[string]any{"name": "one", "namespace": "default"}, "spec": map[string]any{"parts": []any{part}}})
				o, err := w.Objects(version).Patch(t.Context(), "one", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "flux", Force: new(true)})
				g.Expect(err).NotTo(HaveOccurred())
				return o
			}
			applied := apply("v1alpha1", map[string]any{"name": "head", "weight": "heavy"})
			g.Expect(applied.Object["spec"]).To(HaveKeyWithValue("parts", ConsistOf(HaveKey("weight"))))
			w.Flip("v1")
			gate := running.GateFor(w)
			gate.Ask()
			stop := running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{})
			g.Eventually(gate.Verdict, running.Soon).Should(Equal("True SafeToRemove"))
			stop()
			g.Expect(w.Stored()).To(Equal(map[string]int{"v1": 1}))
			raw, err := cp.Etcd().Raw(t.Context(), w.GR, "default", "one")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(raw)).To(ContainSubstring("heavy"), "no field is dropped")

			o := apply("v1", map[string]any{"name": "head"})
			g.Expect(o.Object["spec"]).To(HaveKeyWithValue("parts", ConsistOf(Not(HaveKey("weight")))), "flux applies it no longer")
		})
	}
}
