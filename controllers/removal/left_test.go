package removal_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// leftBehind is a CRD with a healthy conversion webhook whose objects are stored at v1beta1, and have entries of
// managedFields at v1alpha1, which has left the CRD without Moult. v1 is the storage version now.
func leftBehind(t *testing.T, n int) *running.Witness {
	t.Helper()
	g := NewWithT(t)
	conversion := webhooks.Converting(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1beta1", "v1").Storage("v1beta1").OptedIn().
		ConversionWebhook(conversion.URL(), conversion.CABundle()).Build()
	w := running.Install(t, cp, crd)
	w.Create(n)
	g.Expect(w.Stored()).To(Equal(map[string]int{"v1beta1": n}))
	g.Expect(builders.RemoveVersion(t.Context(), cp.Config, crd.Name, "v1alpha1")).To(Succeed())
	w.Flip("v1")
	return w
}

// trimmedBy sets storedVersions as somebody did who did not look, as the in-tree migrator of 1.36 does.
func trimmedBy(t *testing.T, w *running.Witness, versions ...string) {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"status": map[string]any{"storedVersions": versions}})
	_, err := w.CRDs().Patch(t.Context(), w.GR.String(), types.MergePatchType, body, metav1.PatchOptions{}, "status")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

func naming(versions ...string) func(*v1alpha1.VersionRemoval) {
	return func(r *v1alpha1.VersionRemoval) { r.Spec.Versions = versions }
}

// A VersionRemoval, anybody's, that names a version which has left the CRD does not make the check pass over stale
// objects. Their entries at it cannot be followed and cannot wait.
func TestACheckPassesOverNoObjectWithAnEntryAtAVersionThatHasLeft(t *testing.T) {
	g := NewWithT(t)
	const n = 20
	w := leftBehind(t, n)
	trimmedBy(t, w, "v1")

	platform, tenant := running.GateFor(w), running.GateFor(w)
	tenant.Ask(naming("v1alpha1"))
	platform.Ask(naming("v1beta1"))
	running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{})
	g.Eventually(w.Reason, running.Soon).Should(Equal(v1alpha1.ReasonMigrated))
	g.Eventually(platform.Verdict, running.Soon).Should(Equal("True SafeToRemove"))
	g.Expect(w.Stored()).To(Equal(map[string]int{"v1": n}))
	g.Expect(builders.RemoveVersion(t.Context(), cp.Config, w.GR.String(), "v1beta1")).To(Succeed())
	g.Eventually(func() error {
		_, err := w.Objects("v1").List(t.Context(), metav1.ListOptions{})
		return err
	}, running.Soon).Should(Succeed())
}

// Neither does it make a rewriting walk send plain writes, which would clear managedFields for a moment.
func TestAPlainWriteMeetsNoEntryAtAVersionThatHasLeft(t *testing.T) {
	g := NewWithT(t)
	const n = 20
	w := leftBehind(t, n)
	tenant := running.GateFor(w)
	tenant.Ask(naming("v1alpha1"))

	var wiped, seen atomic.Int64
	watch, err := w.Objects("v1").Watch(t.Context(), metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	go func() {
		for e := range watch.ResultChan() {
			if o, ok := e.Object.(metav1.Object); ok {
				seen.Add(1)
				if len(o.GetManagedFields()) == 0 {
					wiped.Add(1)
				}
			}
		}
	}()
	defer watch.Stop()
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, v1alpha1.PausedAnnotation, "true")
	})
	running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{})
	g.Eventually(tenant.Verdict, running.Soon).Should(Equal("True AlreadyRemoved"))
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		delete(crd.Annotations, v1alpha1.PausedAnnotation)
	})
	g.Eventually(w.Reason, running.Soon).Should(Equal(v1alpha1.ReasonMigrated))
	g.Expect(seen.Load()).To(BeNumerically(">=", n))
	g.Expect(wiped.Load()).To(BeZero(), "objects seen without any owner")
}

// namesCorrupt is the minor version of Kubernetes from which on a list names the objects that cannot be read from etcd.
const namesCorrupt = 37

// Somebody has trimmed the list and removed the version while objects were stored at it: the gate does not call that done.
func TestAVersionThatWentTooEarlyIsNotDoneWith(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, crd := widgets(t)
	w := running.InstallFlipped(t, cp, crd.Build(), 3)
	trimmedBy(t, w, "v1")
	g.Expect(builders.RemoveVersion(t.Context(), cp.Config, w.GR.String(), "v1alpha1")).To(Succeed())
	gate := running.GateFor(w)
	gate.Name.Namespace = "default" // where the objects are: elsewhere the gate names none
	gate.Ask()
	stop := running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{Namespaces: []string{"default"}})
	g.Eventually(gate.Verdict, running.Soon).Should(Equal("False ObjectsFailed Reconciling"))
	const remedy = "put v1alpha1 back into spec.versions"
	g.Expect(gate.Message()).To(ContainSubstring(remedy))
	blocker := And(HaveField("Message", ContainSubstring("default/object-0000")), HaveField("Action", ContainSubstring(remedy)))
	if cp.Minor < namesCorrupt {
		blocker = And(HaveField("Message", ContainSubstring("Unreadable")), HaveField("Action", ContainSubstring("the CRD's condition")))
	}
	g.Expect(gate.Removal().Status.Blockers).To(ContainElement(blocker))
	g.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 3}))

	stop()
	gate.Change(func(r *v1alpha1.VersionRemoval) { r.Spec.Require = []v1alpha1.Requirement{v1alpha1.Unserved} }) // etcd has the same, whatever is asked for
	slow := running.Quick(w.GR.Group)
	slow.Settle = time.Hour
	running.Moult(t, cp.Config, slow, removal.Options{Namespaces: []string{"default"}})
	g.Eventually(gate.Message, running.Soon).Should(ContainSubstring("may be left that cannot be read"), "a process that has not looked yet does not open the gate")
	g.Expect(gate.Verdict()).To(Equal("False ObjectsFailed Reconciling"))

	beside := *gate
	beside.Name.Name = "beside-" + w.GR.Group
	beside.Ask(func(r *v1alpha1.VersionRemoval) { r.Name = beside.Name.Name })
	g.Eventually(beside.Verdict, running.Soon).ShouldNot(BeEmpty())
	g.Expect(beside.Verdict()).To(Equal("False ObjectsFailed Reconciling"), "one that is made beside it learns from it")
}
