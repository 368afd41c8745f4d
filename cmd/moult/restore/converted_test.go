package restore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// newWorldThatLost has a backup of three objects at v1alpha1, and a CRD that has lost that version. Its webhook knows both.
func newWorldThatLost(t *testing.T, before ...func(*world)) (*world, *webhooks.Conversion) {
	t.Helper()
	hook := webhooks.Converting(t)
	hook.Rename("v1", "size", "replicas")
	schema := "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, replicas: {type: integer}}}, status: {type: object, properties: {phase: {type: string}}}}}"
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").
		Schema("v1alpha1", schema).Schema("v1", schema).ConversionWebhook(hook.URL(), hook.CABundle()))
	for i := range 3 {
		w.make("v1alpha1", name(i), map[string]any{"size": int64(i)})
	}
	for _, do := range before {
		do(w)
	}
	got := w.Run("backup", w.CRD.Name, "-f", w.file, "--version", "v1alpha1")
	w.Expect(got.Code).To(Equal(cli.ExitUnknown), got.ErrOut)
	w.remove()
	w.installs(builders.CRD(w.CRD.Spec.Group, "widgets").Versions("v1").Schema("v1", schema).ConversionWebhook(hook.URL(), hook.CABundle()))
	return w, hook
}

// Git has the manifests of the new release, so no webhook need be asked.
func TestConvertedObjectsTakeThePlaceOfAConversion(t *testing.T) {
	w, hook := newWorldThatLost(t)
	w.Expect(hook.Down()).To(Succeed())
	manifest := func(version string, at int) string {
		return fmt.Sprintf(`{"apiVersion":"%s/%s","kind":"Widget","metadata":{"name":%q,"namespace":"default","labels":{"from":"git"}},"spec":{"replicas":7}}`, w.CRD.Spec.Group, version, name(at))
	}
	var all []string
	given := filepath.Join(t.TempDir(), "given.yaml")
	for content, problem := range map[string]string{
		manifest("v1alpha1", 1):                                             "--converted: Widget default/" + name(1) + " is at v1alpha1, and the cluster serves v1",
		manifest("v1", 1) + "\n---\n" + manifest("v1", 1):                   "--converted: Widget default/" + name(1) + " is there twice",
		strings.Replace(manifest("v1", 1), `"namespace":"default",`, "", 1): "--converted: Widget " + name(1) + " has no namespace; build the manifests as your tool does",
	} {
		w.Expect(os.WriteFile(given, []byte(content), 0o600)).To(Succeed())
		got := w.Run("restore", "-f", w.file, "--converted", given)
		w.Expect(got.Code).To(Equal(cli.ExitError), got.ErrOut)
		w.Expect(got.ErrOut).To(ContainSubstring(problem))
	}
	w.Expect(os.WriteFile(given, []byte(manifest("v1", 1)), 0o600)).To(Succeed())
	report, code := w.restore("--converted", given)
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(report.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 1, restore.Refused: 2}))
	missing := slices.DeleteFunc(slices.Clone(report.Results), func(result restore.Result) bool { return result.Outcome == restore.Created })
	w.Expect(missing).To(HaveEach(HaveField("Why", HavePrefix("it is not among the objects of --converted. The cluster serves v1, and the backup has the objects at v1alpha1. A webhook"))))
	w.Expect(w.get("v1", name(1)).Object["spec"]).To(Equal(map[string]any{"replicas": int64(7)}))
	w.Expect(w.get("v1", name(1)).GetLabels()).To(BeEmpty(), "metadata are those of the backup")

	for i := range 3 {
		all = append(all, manifest("v1", i))
	}
	w.Expect(os.WriteFile(given, []byte(strings.Join(all, "\n---\n")), 0o600)).To(Succeed())
	report, code = w.restore("--converted", given)
	w.Expect(code).To(Equal(cli.ExitDone), "%+v", report)
	w.Expect(report.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 2, restore.Unchanged: 1}))

	status := []byte(`{"spec":{"replicas":1},"status":{"phase":"Ready"}}`)
	_, err := w.Objects("v1").Patch(t.Context(), name(2), types.MergePatchType, status, metav1.PatchOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	_, code = w.restore("--converted", given, "--overwrite")
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(w.get("v1", name(2)).Object).To(And(HaveKeyWithValue("spec", map[string]any{"replicas": int64(7)}),
		HaveKeyWithValue("status", map[string]any{"phase": "Ready"})), "files need not have a status")
}

// What a webhook does to the values and to the metadata is not passed over.
func TestWhatAWebhookChangesIsNamed(t *testing.T) {
	w, hook := newWorldThatLost(t, func(w *world) {
		w.patch("v1alpha1", name(1), "hand", map[string]any{"metadata": map[string]any{
			"labels": map[string]any{"team": "a"}, "annotations": map[string]any{"note": "mine"},
		}})
	})
	hook.Change(func(object *unstructured.Unstructured, _, to string) {
		if to != "v1" {
			return
		}
		if replicas, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas"); replicas > 1 {
			_ = unstructured.SetNestedField(object.Object, int64(1), "spec", "replicas")
		}
		object.SetLabels(map[string]string{"by": "webhook"})
		object.SetAnnotations(map[string]string{"note": "the webhook's", "kept": "for the way back"})
	})
	named := ConsistOf(And(HaveField("Object", "default/"+name(2)), HaveField("Paths", []string{"spec.size"})))
	for _, want := range []map[restore.Outcome]int64{{restore.Created: 3}, {restore.Unchanged: 2, restore.Differs: 1}} {
		of, code := w.restore("--webhook", "crd")
		w.Expect(code).To(Equal(cli.ExitNotDone))
		w.Expect(of.Counts).To(Equal(want), "%+v", of)
		w.Expect(of.Results).To(named)
	}
	object := w.get("v1", name(1))
	w.Expect(object.GetLabels()).To(Equal(map[string]string{"team": "a"}))
	w.Expect(object.GetAnnotations()).To(Equal(map[string]string{"note": "mine", "kept": "for the way back"}))
}

// What the files have and the backup does not is named and refused. So is named what they have otherwise, or for nothing.
func TestConvertedObjectsAreComparedWithTheBackup(t *testing.T) {
	group := builders.UniqueGroup(t)
	schema := "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string}}}}}"
	w := newWorld(t, builders.CRD(group, "widgets").Versions("v1alpha1").Schema("v1alpha1", schema))
	for i := range 3 {
		w.make("v1alpha1", name(i), map[string]any{"size": int64(i), "color": "red"})
	}
	w.backup()
	given := filepath.Join(t.TempDir(), "given.yaml")
	put := func(manifests ...string) {
		w.Expect(os.WriteFile(given, []byte(strings.Join(manifests, "\n---\n")), 0o600)).To(Succeed())
	}
	manifest := func(name, spec string) string {
		return fmt.Sprintf(`{"apiVersion":"%s/v1","kind":"Widget","metadata":{"name":%q,"namespace":"default"},"spec":%s}`, group, name, spec)
	}
	deployment := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"}}`
	put(manifest(name(0), `{"size":0,"color":"red"}`), deployment, manifest("stranger", `{}`))
	got := w.Run("restore", "-f", w.file, "--converted", given)
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	w.Expect(got.Out).To(And(ContainSubstring("1 in --converted and not in the backup, refused\n         default/stranger: the files have it"),
		ContainSubstring("1 in --converted, not used: the cluster serves a version that the backup has"),
		ContainSubstring("in --converted, and of no CRD that is restored, so left alone: Deployment default/web")))

	w.remove()
	w.installs(builders.CRD(group, "widgets").Versions("v1").Schema("v1", schema))
	put(manifest(name(0), `{"size":0,"color":"red"}`), manifest(name(1), `{"size":7}`), manifest("stranger", `{"size":1}`), deployment)
	report, code := w.restore("--converted", given)
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(report.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 3, restore.NotInBackup: 1}))
	w.Expect(report.NotKept).To(BeEquivalentTo(1))
	w.Expect(report.Results).To(ConsistOf(
		restore.Result{Object: "default/" + name(0), Outcome: restore.Created, Why: "the cluster did not have it, and it is made from the file"},
		restore.Result{Object: "default/" + name(1), Outcome: restore.Created, Why: "the cluster did not have it, and it is made from the file; the file has other values than the backup", Paths: []string{"spec.color", "spec.size"}},
		restore.Result{Object: "default/stranger", Outcome: restore.NotInBackup, Why: "the files have it, and the backup does not; apply it with its own tool"},
	))
	put("")
	got = w.Run("restore", "-f", w.file, "--converted", given)
	w.Expect(got.Code).To(Equal(cli.ExitError))
	w.Expect(got.ErrOut).To(ContainSubstring("--converted: there is no object in " + given))
}
