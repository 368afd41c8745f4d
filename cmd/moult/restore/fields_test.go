package restore

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// What v1 has, and v1alpha1 has not: spec.extra, and a note on each part.
const (
	olderSchema = `{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string},
		parts: {type: array, items: {type: object, properties: {name: {type: string}}}}}}}}`
	newerSchema = `{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string}, extra: {type: string},
		parts: {type: array, items: {type: object, properties: {name: {type: string}, note: {type: string}}}}}}}}`
)

func part(name, note string) map[string]any { return map[string]any{"name": name, "note": note} }

// apply is what a tool does with a manifest.
func (w *world) apply(version, name string, spec map[string]any) {
	w.T.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.CRD.Spec.Group + "/" + version, "kind": "Widget", "metadata": map[string]any{"name": name, "namespace": "default"}, "spec": spec,
	}}
	w.Eventually(func() error {
		_, err := w.Objects(version).Apply(w.T.Context(), name, object, metav1.ApplyOptions{FieldManager: "flux", Force: true})
		return err
	}, running.Soon).Should(Succeed())
}

// specs are those of all objects, by name.
func (w *world) specs() map[string]any {
	w.T.Helper()
	found := map[string]any{}
	for name, object := range w.all("v1") {
		found[name] = object["spec"]
	}
	return found
}

// stores flips to a version, and waits until Moult has rewritten every object at it, or says why not.
func (w *world) stores(version, reason string) {
	w.T.Helper()
	w.Flip(version)
	w.Eventually(w.Reason, running.Soon).Should(Equal(reason), func() string { return w.Condition().Message })
}

// Back to an older version and forth again: what only the newer one has is named and held, and let go when a backup has it. After
// the next upgrade it is put back, beside what was written in between.
func TestFieldsAreBroughtBackAfterTheNextUpgrade(t *testing.T) {
	group := builders.UniqueGroup(t)
	w := newWorld(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").OptedIn().Schema("v1alpha1", olderSchema).Schema("v1", newerSchema))
	w.apply("v1", "rose", map[string]any{"size": int64(1), "color": "red", "extra": "thorns"})
	w.apply("v1", "tulip", map[string]any{"size": int64(1), "parts": []any{part("bulb", "deep"), part("leaf", "long")}})
	w.apply("v1", "iris", map[string]any{"size": int64(1), "parts": []any{part("bulb", "deep")}})
	w.apply("v1", "plain", map[string]any{"size": int64(1)})
	w.apply("v1", "going", map[string]any{"size": int64(1), "extra": "x"})
	w.backup()

	running.Migration(t, cp.Config, running.Quick(group))
	w.stores("v1alpha1", v1alpha1.ReasonFieldsWouldBeLost)
	w.Expect(w.Condition().Message).To(And(ContainSubstring("spec.extra (2 objects at v1)"), ContainSubstring("spec.parts[*].note (2 objects at v1)"), ContainSubstring("For example, ")))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 5}), "the return holds")
	w.Expect(w.raw("rose")).To(ContainSubstring(`"extra":"thorns"`))
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{v1alpha1.AllowFieldLossAnnotation: "spec.extra,spec.parts[*].note"}
	})
	w.Eventually(w.Reason, running.Soon).Should(Equal(v1alpha1.ReasonMigrated), func() string { return w.Condition().Message })
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 5}))
	w.Expect(w.raw("rose")).NotTo(ContainSubstring("thorns"))

	w.patch("v1alpha1", "rose", "hand", spec("white"))
	w.apply("v1alpha1", "iris", map[string]any{"size": int64(1), "parts": []any{map[string]any{"name": "stem"}}})
	w.apply("v1alpha1", "new", map[string]any{"size": int64(7)})
	w.Expect(w.Objects("v1").Delete(t.Context(), "going", metav1.DeleteOptions{})).To(Succeed())
	w.stores("v1", v1alpha1.ReasonMigrated)
	between := w.specs()

	want := map[restore.Outcome]int64{restore.PutBack: 2, restore.Unchanged: 1, restore.Differs: 1, restore.Absent: 1}
	fields := []string{"--fields", "spec.extra,spec.parts[*].note"}
	of, code := w.restore(append(fields, "--dry-run")...)
	w.Expect(code).To(Equal(1))
	w.Expect(of.Counts).To(Equal(want))
	w.Expect(w.specs()).To(Equal(between), "a dry run writes nothing")
	of, code = w.restore(fields...)
	w.Expect(code).To(Equal(1), "iris has another part now")
	w.Expect(of.Counts).To(Equal(want))
	w.Expect(of.Results).To(ContainElement(restore.Result{Object: "default/iris", Outcome: restore.Differs, Paths: []string{"spec.parts[0].note"},
		Why: "what these fields lay in has changed, so they are left out; --overwrite writes all of the object"}))
	w.Expect(w.specs()).To(Equal(map[string]any{
		"rose":  map[string]any{"size": int64(1), "color": "white", "extra": "thorns"},
		"tulip": map[string]any{"size": int64(1), "parts": []any{part("bulb", "deep"), part("leaf", "long")}},
		"iris":  map[string]any{"size": int64(1), "parts": []any{map[string]any{"name": "stem"}}},
		"plain": map[string]any{"size": int64(1)},
		"new":   map[string]any{"size": int64(7)},
	}))
	w.Expect(w.raw("rose")).To(And(ContainSubstring(`"extra":"thorns"`), ContainSubstring(group+`/v1"`)))
	of, _ = w.restore(fields...)
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Unchanged: 3, restore.Differs: 1, restore.Absent: 1}), "a second time changes nothing")

	for _, entry := range w.get("v1", "rose").GetManagedFields() {
		w.Expect(entry.Manager).NotTo(Equal(restore.Manager), "who managed the field has it back")
	}
	w.apply("v1", "tulip", map[string]any{"size": int64(1)})
	w.Expect(w.specs()["tulip"]).To(Equal(map[string]any{"size": int64(1)}), "the tool that managed the field prunes it")
}

// Only the fields that are named come back.
func TestOnlyNamedFieldsArePutBack(t *testing.T) {
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1"))
	w.apply("v1", "rose", map[string]any{"size": int64(1), "color": "red", "enabled": true})
	w.backup()
	w.apply("v1", "rose", map[string]any{"size": int64(1)})
	of, code := w.restore("--fields", "spec.color")
	w.Expect(code).To(BeZero(), "%+v", of)
	w.Expect(w.specs()).To(Equal(map[string]any{"rose": map[string]any{"size": int64(1), "color": "red"}}))
	got := w.Run("restore", "-f", w.file, "--fields", `spec.color,spec.labels["a.b/c"]`, "--fields", "spec.colour")
	w.Expect(got.Code).To(Equal(1), "a name that was mistyped")
	w.Expect(got.Out).To(And(ContainSubstring("--fields spec.colour: no object of the backup has it"), ContainSubstring(`--fields spec.labels["a.b/c"]: no object`)))
	w.Expect(got.Out).NotTo(ContainSubstring("--fields spec.color:"))
	for args, says := range map[string]string{
		"--fields spec.color --overwrite":                "--fields puts back fields and nothing else",
		"--fields status.phase":                          `--fields "status.phase": fields of metadata and status are not put back`,
		`--fields metadata["example.com/x"]`:             `fields of metadata and status are not put back`,
		`--fields metadata["x"]`:                         `"metadata[\"x\"]" is no path of a field as it is written here; write metadata.x`,
		`--fields spec.size,spec.parts[0]`:               "write spec.parts[*]",
		`--fields=,`:                                     "--fields names no field",
		`--fields spec.size --fields spec.labels["a/b"]`: "write spec.labels.a/b",
	} {
		got = w.Run(append([]string{"restore", "-f", w.file}, strings.Fields(args)...)...)
		w.Expect(got.Code).To(Equal(2), args)
		w.Expect(got.ErrOut).To(ContainSubstring(says))
	}
}

// Killed before it has said who manages a field, a restore is ended by the same command.
func TestAnInterruptedPutBackIsEnded(t *testing.T) {
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1"))
	w.apply("v1", "rose", map[string]any{"size": int64(1), "color": "red"})
	w.apply("v1", "tulip", map[string]any{"size": int64(1), "color": "red"})
	w.backup()
	w.apply("v1", "rose", map[string]any{"size": int64(1)})
	w.patch("v1", "rose", restore.Manager, spec("red"))
	fields := []string{"--fields", "spec.color"}
	for _, args := range [][]string{append(fields, "--dry-run"), fields} {
		of, code := w.restore(args...)
		w.Expect(code).To(BeZero(), "%+v", of)
		w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.PutBack: 1, restore.Unchanged: 1}))
	}
	of, _ := w.restore(fields...)
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Unchanged: 2}))
	w.apply("v1", "rose", map[string]any{"size": int64(1)})
	w.Expect(w.specs()["rose"]).To(Equal(map[string]any{"size": int64(1)}), "the tool that managed the field prunes it")
}
