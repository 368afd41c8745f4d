package restore

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// world is a test's, with a folder for its backup.
type world struct {
	*clitest.World
	file string
}

// family has a CRD with a status, and n objects: each but the first is owned by the one before it.
func family(t *testing.T, n int) *world {
	t.Helper()
	return ownedBy(t, n, func(i int) int { return i - 1 })
}

// ownedBy has a CRD with a status, and n objects, each but the first with an owner.
func ownedBy(t *testing.T, n int, ownerOf func(i int) int) *world {
	t.Helper()
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").WithStatus())
	w.Create(n)
	for i := range n {
		if i > 0 {
			w.own(name(i), w.get("v1", name(ownerOf(i))))
		}
		w.patch("v1", name(i), "hand", map[string]any{"metadata": map[string]any{"labels": map[string]any{"at": fmt.Sprint(i)}}})
		w.patch("v1alpha1", name(i), "controller", map[string]any{"status": map[string]any{"phase": "Ready"}}, "status")
	}
	return w
}

func newWorld(t *testing.T, builder *builders.CRDBuilder) *world {
	t.Helper()
	return &world{World: suite.WorldOf(t, builder), file: filepath.Join(t.TempDir(), "backup.tar.gz")}
}

func (w *world) patch(version, name, manager string, body map[string]any, subresource ...string) {
	w.T.Helper()
	raw, err := json.Marshal(body)
	w.Expect(err).NotTo(HaveOccurred())
	_, err = w.Objects(version).Patch(w.T.Context(), name, types.MergePatchType, raw, metav1.PatchOptions{FieldManager: manager}, subresource...)
	w.Expect(err).NotTo(HaveOccurred())
}

// own gives an object an owner.
func (w *world) own(name string, owner *unstructured.Unstructured) {
	w.T.Helper()
	w.patch("v1", name, "hand", map[string]any{"metadata": map[string]any{"ownerReferences": []metav1.OwnerReference{{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
	}}}})
}

func name(i int) string { return fmt.Sprintf("object-%05d", i) }

func (w *world) get(version, name string) *unstructured.Unstructured {
	w.T.Helper()
	object, err := w.Objects(version).Get(w.T.Context(), name, metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return object
}

// all are the objects, by name, without what differs in each cluster.
func (w *world) all(version string) map[string]map[string]any {
	w.T.Helper()
	list, err := w.Objects(version).List(w.T.Context(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	found := map[string]map[string]any{}
	for i := range list.Items {
		object := &list.Items[i]
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
			unstructured.RemoveNestedField(object.Object, "metadata", field)
		}
		refs := object.GetOwnerReferences()
		for j := range refs {
			refs[j].UID = ""
		}
		if len(refs) > 0 {
			object.SetOwnerReferences(refs)
		}
		found[object.GetName()] = object.Object
	}
	return found
}

func (w *world) delete() {
	w.T.Helper()
	w.Expect(w.Objects("v1").DeleteCollection(w.T.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
	w.Eventually(func() (int, error) {
		list, err := w.Objects("v1").List(w.T.Context(), metav1.ListOptions{})
		return len(list.Items), err
	}, running.Soon).Should(BeZero())
}

func (w *world) backup() {
	w.T.Helper()
	got := w.Run("backup", w.CRD.Name, "-f", w.file)
	w.Expect(got.Code).To(Equal(0), got.ErrOut)
}

func (w *world) restore(args ...string) (restore.CRDReport, int) {
	w.T.Helper()
	got := w.Run(append([]string{"restore", "-f", w.file, "-o", "json"}, args...)...)
	report := restore.Report{}
	w.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed(), got.ErrOut)
	w.Expect(report.CRDs).To(HaveLen(1))
	return report.CRDs[0], got.Code
}

// checkOwners holds each reference to the UID of the object that it names.
func (w *world) checkOwners() {
	w.T.Helper()
	list, err := w.Objects("v1").List(w.T.Context(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	uids := map[string]types.UID{}
	for i := range list.Items {
		uids[list.Items[i].GetName()] = list.Items[i].GetUID()
	}
	for i := range list.Items {
		for _, ref := range list.Items[i].GetOwnerReferences() {
			w.Expect(ref.UID).To(Equal(uids[ref.Name]), list.Items[i].GetName())
		}
	}
}

// What was deleted is there again: content, status, owners and who manages which field, at each version.
func TestObjectsComeBackAsTheyWere(t *testing.T) {
	const n = 7
	w := family(t, n)
	was := map[string]any{"v1": w.all("v1"), "v1alpha1": w.all("v1alpha1")}
	w.backup()
	content, err := os.ReadFile(w.file)
	w.Expect(err).NotTo(HaveOccurred())
	w.delete()

	would, code := w.restore("--dry-run")
	w.Expect(code).To(Equal(0), "%+v", would)
	w.Expect(would.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: n}))
	w.Expect(w.all("v1")).To(BeEmpty())

	done, code := w.restore()
	w.Expect(code).To(Equal(0), "%+v", done)
	w.Expect(done.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: n}))
	w.Expect(map[string]any{"v1": w.all("v1"), "v1alpha1": w.all("v1alpha1")}).To(Equal(was))
	w.checkOwners()

	again, code := w.restore()
	w.Expect(code).To(Equal(0), "%+v", again)
	w.Expect(again.Counts).To(Equal(map[restore.Outcome]int64{restore.Unchanged: n}))
	w.Expect(os.ReadFile(w.file)).To(Equal(content))
}
