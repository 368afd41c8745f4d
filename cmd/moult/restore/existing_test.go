package restore

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

func spec(color string) map[string]any { return map[string]any{"spec": map[string]any{"color": color}} }

// What is there stays, unless it is to be overwritten; then it is as it was, in all that makes it up.
func TestWhatIsThereStays(t *testing.T) {
	w := ownedBy(t, 5, func(int) int { return 0 })
	was := w.all("v1")
	w.backup()
	w.patch("v1", name(1), "hand", spec("other"))
	w.patch("v1", name(2), "hand", map[string]any{"metadata": map[string]any{"labels": map[string]any{"new": "x"}, "ownerReferences": nil}})
	w.patch("v1", name(3), "controller", map[string]any{"status": map[string]any{"phase": "Gone"}}, "status")
	w.Expect(w.Objects("v1").Delete(t.Context(), name(4), metav1.DeleteOptions{})).To(Succeed())
	is := w.all("v1")

	want := map[restore.Outcome]int64{restore.Created: 1, restore.Unchanged: 1, restore.Differs: 2, restore.OtherStatus: 1}
	for _, args := range [][]string{{"--dry-run"}, {}} {
		of, code := w.restore(args...)
		w.Expect(code).To(Equal(cli.ExitNotDone))
		w.Expect(of.Counts).To(Equal(want))
		paths := map[string][]string{}
		for _, result := range of.Results {
			paths[result.Object] = result.Paths
		}
		w.Expect(paths).To(Equal(map[string][]string{
			"default/" + name(1): {"spec.color"}, "default/" + name(2): {"metadata.ownerReferences", "metadata.labels.new"}, "default/" + name(3): {"status.phase"},
		}))
	}
	is[name(4)] = was[name(4)]
	w.Expect(w.all("v1")).To(Equal(is))

	of, code := w.restore("--overwrite", "--dry-run")
	w.Expect(code).To(Equal(0), "%+v", of)
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Overwritten: 3, restore.Unchanged: 2}))
	w.Expect(w.all("v1")).To(Equal(is))
	of, code = w.restore("--overwrite")
	w.Expect(code).To(Equal(0), "%+v", of)
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Overwritten: 3, restore.Unchanged: 2}))
	w.Expect(w.all("v1")).To(Equal(was))
	w.checkOwners()
}

// Killed before it has said who manages which field, an overwrite is ended by the next one.
func TestAnInterruptedOverwriteIsEnded(t *testing.T) {
	w := ownedBy(t, 2, func(int) int { return 0 })
	was := w.all("v1")
	w.backup()
	w.patch("v1", name(1), "hand", spec("other"))
	w.patch("v1", name(1), restore.Manager, map[string]any{"spec": was[name(1)]["spec"]})
	for _, args := range [][]string{nil, {"--overwrite", "--dry-run"}} {
		_, code := w.restore(args...)
		w.Expect(code).To(Equal(0))
		w.Expect(w.all("v1")).NotTo(Equal(was))
	}
	of, code := w.restore("--overwrite")
	w.Expect(code).To(Equal(0), "%+v", of)
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Overwritten: 1, restore.Unchanged: 1}))
	w.Expect(w.all("v1")).To(Equal(was))
	of, _ = w.restore("--overwrite")
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Unchanged: 2}))
}

// Interrupted, a restore leaves some objects out, and some without their status. The same command ends it.
func TestAnInterruptedRestoreIsRepeated(t *testing.T) {
	const n = 60
	w := ownedBy(t, n, func(int) int { return 0 })
	was := w.all("v1")
	w.backup()
	w.delete()

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan clitest.Answer)
	go func() { ended <- w.RunContext(ctx, "restore", "-f", w.file) }()
	w.Eventually(func() (int, error) {
		list, err := w.Objects("v1").List(t.Context(), metav1.ListOptions{})
		return len(list.Items), err
	}, running.Soon, "1ms").Should(BeNumerically(">", 5))
	cancel()
	if got := <-ended; got.Code != 0 { // 0: it was faster
		w.Expect(got.Code).To(Equal(130))
		w.Expect(got.ErrOut).To(ContainSubstring("the same command goes on from there"))
	}
	// As a kill between two requests leaves it, wherever it was.
	for _, half := range []string{name(3), name(n - 1)} {
		object := &unstructured.Unstructured{Object: runtimeCopy(w, was[half])}
		unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
		refs := object.GetOwnerReferences()
		refs[0].UID = w.get("v1", refs[0].Name).GetUID()
		object.SetOwnerReferences(refs)
		_ = w.Objects("v1").Delete(t.Context(), half, metav1.DeleteOptions{})
		_, err := w.Objects("v1").Create(t.Context(), object, metav1.CreateOptions{FieldManager: restore.Manager})
		w.Expect(err).NotTo(HaveOccurred())
	}

	of, code := w.restore()
	w.Expect(code).To(Equal(0), "%+v", of)
	w.Expect(w.all("v1")).To(Equal(was))
	w.checkOwners()
}

func runtimeCopy(w *world, object map[string]any) (copied map[string]any) {
	raw, err := json.Marshal(object)
	w.Expect(err).NotTo(HaveOccurred())
	o := &unstructured.Unstructured{}
	w.Expect(o.UnmarshalJSON(raw)).To(Succeed())
	return o.Object
}

func TestADamagedBackupIsNotRestored(t *testing.T) {
	w := family(t, 2)
	w.backup()
	w.delete()
	content, err := os.ReadFile(w.file)
	w.Expect(err).NotTo(HaveOccurred())
	content[len(content)/2] ^= 1
	w.Expect(os.WriteFile(w.file, content, 0o600)).To(Succeed())
	for _, command := range [][]string{{"restore", "-f", w.file}, {"backup", "verify", w.file}} {
		got := suite.Moult.Run(t, append(command, "--kubeconfig", w.Kubeconfig())...)
		w.Expect(got.Code).To(Equal(1))
		w.Expect(got.ErrOut).To(ContainSubstring("nothing of it is used"))
	}
	w.Expect(w.all("v1")).To(BeEmpty())
}

// What the version restored at does not have is named each time.
func TestAnObjectThatLacksSomethingIsNotAsInTheBackup(t *testing.T) {
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1").Schema("v1alpha1", withClientID))
	w.make("v1alpha1", name(0), map[string]any{"name": "rose"})
	w.make("v1alpha1", name(1), map[string]any{"name": "rose", "clientId": "x"})
	w.backup()
	w.remove()
	w.installs(builders.CRD(w.CRD.Spec.Group, "widgets").Versions("v1").Schema("v1", withoutClientID))
	named := ConsistOf(And(HaveField("Object", "default/"+name(1)), HaveField("Paths", []string{"spec.clientId"})))
	for _, want := range []map[restore.Outcome]int64{{restore.Created: 2}, {restore.Unchanged: 1, restore.Differs: 1}, {restore.Unchanged: 1, restore.Differs: 1}} {
		of, code := w.restore()
		w.Expect(code).To(Equal(cli.ExitNotDone))
		w.Expect(of.Counts).To(Equal(want))
		w.Expect(of.Results).To(named)
	}
	of, code := w.restore("--fields", "spec.clientId")
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Results).To(named)
}
