package restore

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// An owner that is no object of the backup has another UID by now: the one that is there under its name is the owner.
func TestOwnersOfAnotherKindAreFoundByName(t *testing.T) {
	w := ownedBy(t, 3, func(int) int { return 0 })
	maps := kubernetes.NewForConfigOrDie(cp.Config).CoreV1().ConfigMaps("default")
	made := func() *unstructured.Unstructured {
		created, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "the-owner"}}, metav1.CreateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = maps.Delete(context.Background(), created.Name, metav1.DeleteOptions{}) })
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": created.Name, "uid": string(created.UID)}}}
	}
	w.own(name(0), made())
	w.backup()
	w.delete()
	w.Expect(maps.Delete(t.Context(), "the-owner", metav1.DeleteOptions{})).To(Succeed())

	of, code := w.restore()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Refused: 3}), "those that it owns wait for it in vain")
	w.Expect(of.Results[0].Why + of.Results[1].Why + of.Results[2].Why).To(ContainSubstring("ConfigMap default/the-owner"))

	owner := made()
	of, code = w.restore()
	w.Expect(code).To(Equal(0), "%+v", of)
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 3}))
	w.Expect(w.get("v1", name(0)).GetOwnerReferences()[0].UID).To(Equal(owner.GetUID()))
}

func TestWithoutTheirOwnersOnRequest(t *testing.T) {
	w := ownedBy(t, 3, func(int) int { return 0 })
	gone := w.get("v1", name(0)).DeepCopy()
	gone.SetName("gone")
	gone.SetUID(types.UID("gone"))
	w.own(name(0), gone)
	w.own(name(2), gone)
	w.backup()
	w.delete()
	of, code := w.restore("--drop-owners")
	w.Expect(code).To(Equal(0), "%+v", of)
	w.Expect(w.get("v1", name(0)).GetOwnerReferences()).To(BeEmpty())
	w.Expect(w.get("v1", name(1)).GetOwnerReferences()).To(HaveLen(1), "an owner that is there stays one")
	w.checkOwners()
}

func TestObjectsThatOwnEachOther(t *testing.T) {
	w := ownedBy(t, 2, func(int) int { return 0 })
	w.own(name(0), w.get("v1", name(1)))
	w.backup()
	w.delete()
	of, code := w.restore()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Refused: 2}))
	_, code = w.restore("--drop-owners")
	w.Expect(code).To(Equal(0))
	w.Expect(w.all("v1")).To(HaveLen(2))
}

// A reference at a version that has left the owner's CRD since the backup would have the garbage collector delete the object.
func TestAnOwnerThatHasLostTheVersionIsNamedAtOneThatItHas(t *testing.T) {
	w := ownedBy(t, 1, func(int) int { return 0 })
	group := w.CRD.Spec.Group
	gardens := running.Install(t, cp, builders.CRD(group, "gardens").Versions("v1alpha1", "v1").Build())
	garden, err := gardens.Objects("v1alpha1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1alpha1", "kind": "Garden", "metadata": map[string]any{"name": "eden"}}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.own(name(0), garden)
	w.Expect(w.get("v1", name(0)).GetOwnerReferences()[0].APIVersion).To(Equal(group + "/v1alpha1"))
	w.backup()
	w.delete()
	garden, err = gardens.Objects("v1").Update(t.Context(), gardenAt(garden, group+"/v1"), metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	gardens.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	w.Eventually(func() error {
		_, err := gardens.Objects("v1alpha1").Get(t.Context(), "eden", metav1.GetOptions{})
		return err
	}, "1m").Should(MatchError(ContainSubstring("could not find the requested resource")))

	of, code := w.restore()
	w.Expect(code).To(Equal(0), "%+v", of)
	refs := w.get("v1", name(0)).GetOwnerReferences()
	w.Expect(refs).To(ConsistOf(And(HaveField("APIVersion", group+"/v1"), HaveField("UID", garden.GetUID()))))
	of, code = w.restore()
	w.Expect(code).To(Equal(0))
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Unchanged: 1}))
}

func gardenAt(garden *unstructured.Unstructured, apiVersion string) *unstructured.Unstructured {
	at := garden.DeepCopy()
	at.SetAPIVersion(apiVersion)
	at.SetManagedFields(nil)
	return at
}
