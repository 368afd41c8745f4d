package migrate

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// newLossyWorld has two objects at v1alpha1, and a webhook that drops spec.old of one on the way to v1, and any other change.
func newLossyWorld(t *testing.T, changes ...webhooks.Change) (*clitest.World, *webhooks.Conversion) {
	t.Helper()
	hook, err := webhooks.NewConversion()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = hook.Close() })
	hook.Change(func(object *unstructured.Unstructured, _, to string) {
		if to == "v1" {
			unstructured.RemoveNestedField(object.Object, "spec", "items") // a v1 that knows none
		}
	})
	for _, change := range changes {
		hook.Change(change)
	}
	group := builders.UniqueGroup(t)
	schema := "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, items: {type: array, items: {type: object, properties: {old: {type: string}}}}}}, status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}"
	w := suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Label(group+"/migrate", "true").
		Schema("v1alpha1", schema).Schema("v1", schema).ConversionWebhook(hook.URL(), hook.CABundle()))
	for name, spec := range map[string]any{"rose": map[string]any{"size": int64(1)}, "thorn": map[string]any{"items": []any{map[string]any{"old": "x"}}}} {
		_, err := w.Objects("v1alpha1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": spec,
		}}, metav1.CreateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.Flip("v1")
	return w, hook
}

func TestMigrateDropsNoFieldByAWebhookThatItHasAsked(t *testing.T) {
	w, _ := newLossyWorld(t)
	for _, args := range [][]string{{"--dry-run"}, {"--settle", "1s"}} {
		got := w.Run(append([]string{"migrate", w.CRD.Name, "--rehearse"}, args...)...)
		w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
		w.Expect(got.ErrOut).To(And(ContainSubstring("FieldsWouldBeLost: the conversion webhook would lose or change fields of objects for good on the way to v1: spec.items (1 object at v1alpha1)"),
			ContainSubstring(`annotation moult.dev/allow-field-loss: "spec.items" on the CRD`), ContainSubstring("default/thorn has spec.items")))
		w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 2}))
	}
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{v1alpha1.AllowFieldLossAnnotation: "spec.items"}
	})
	got := w.Run("migrate", w.CRD.Name, "--settle", "1s", "--rehearse")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 2}))
}

func TestMigrateAsksWebhooksOnlyWithRehearse(t *testing.T) {
	w, _ := newLossyWorld(t)
	got := w.Run("migrate", w.CRD.Name, "--settle", "1s")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 2}))
}

// More objects than a webhook is asked about at a time.
func TestWhatAWebhookRenamesIsNotLost(t *testing.T) {
	hook, err := webhooks.NewConversion()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = hook.Close() })
	hook.Rename("v1", "size", "replicas")
	group := builders.UniqueGroup(t)
	w := suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Label(group+"/migrate", "true").
		Schema("v1alpha1", "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}").
		Schema("v1", "{type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}}}}}").ConversionWebhook(hook.URL(), hook.CABundle()))
	w.Create(120, builders.Each(func(u *unstructured.Unstructured) { u.Object["spec"] = map[string]any{"size": int64(3)} }))
	w.Flip("v1")
	got := w.Run("migrate", w.CRD.Name, "--settle", "1s", "--rehearse")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 120}))
}

func TestAWebhookThatCannotBeAskedHoldsTheMigration(t *testing.T) {
	w, hook := newLossyWorld(t)
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	got := w.Run("migrate", w.CRD.Name, "--rehearse", "--dry-run")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	w.Expect(got.ErrOut).To(And(ContainSubstring("v1alpha1, which is not served, so it cannot be seen what the conversion webhook would lose"), Not(ContainSubstring("allow-field-loss"))))
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = true })

	hook.Refuse(func(r *http.Request) bool { return r.UserAgent() == "moult" })
	got = w.Run("migrate", w.CRD.Name, "--rehearse", "--dry-run")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	w.Expect(got.ErrOut).To(And(ContainSubstring("ConversionUnavailable"), ContainSubstring("asked by Moult what it would lose")))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 2}))
}

// A webhook that drops a field and shows it only on the way back, and one that is not ready at first.
func TestAnObjectThatCannotBeConvertedThereAndBackHoldsTheMigration(t *testing.T) {
	w, hook := newLossyWorld(t)
	hook.RejectObject("thorn")
	got := w.Run("migrate", w.CRD.Name, "--rehearse", "--settle", "1s")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	w.Expect(got.ErrOut).To(And(ContainSubstring("ConversionUnavailable"), ContainSubstring("default/thorn cannot be converted to v1: ")))
	w.Expect(hook.Heal()).To(Succeed())
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 2}))
}

// Somebody has trimmed storedVersions by hand, so only the objects tell at which version they are stored.
func TestEveryVersionThatIsServedIsRehearsed(t *testing.T) {
	w, _ := newLossyWorld(t)
	_, err := w.CRDs().Patch(t.Context(), w.CRD.Name, types.MergePatchType, []byte(`{"status":{"storedVersions":["v1"]}}`), metav1.PatchOptions{}, "status")
	w.Expect(err).NotTo(HaveOccurred())
	got := w.Run("migrate", w.CRD.Name, "--rehearse", "--settle", "1s")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	w.Expect(got.ErrOut).To(ContainSubstring("FieldsWouldBeLost"))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 2}))
}

// The webhook is asked about every object before the first write, many at a time: --max-rate, which is about writes, does not slow it.
func TestEveryObjectIsRehearsedInBatches(t *testing.T) {
	const n = 240
	w, hook := newLossyWorld(t)
	w.Create(n)
	stored := w.Stored()
	var asked atomic.Int64
	hook.Refuse(func(r *http.Request) bool {
		if r.UserAgent() == "moult" {
			asked.Add(1)
		}
		return false
	})
	began := time.Now()
	got := w.Run("migrate", w.CRD.Name, "--rehearse", "--settle", "1s", "--max-rate", "1")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	w.Expect(got.ErrOut).To(And(ContainSubstring("spec.items (1 object at v1alpha1)"), ContainSubstring("default/thorn has spec.items")), "it is the last of all")
	w.Expect(w.Stored()).To(Equal(stored), "nothing is written")
	w.Expect(asked.Load()).To(BeNumerically("<=", n/10), "there and back, and some fifty at a time")
	w.Expect(time.Since(began)).To(BeNumerically("<", n*time.Second))
	t.Logf("%d objects in %s, with %d requests", n+2, time.Since(began).Round(time.Millisecond), asked.Load())
}
