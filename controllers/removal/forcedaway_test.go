package removal_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// An operator is uninstalled before its CRD, so the API server can delete no object of that, and somebody takes the CRD's finalizer off. The
// objects stay in etcd. With the CRD from Git, without the version, nothing could read them.
func TestACRDThatIsForcedAwayOpensNoGate(t *testing.T) {
	g := NewWithT(t)
	const n = 5
	conversion := webhooks.Converting(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().
		ConversionWebhook(conversion.URL(), conversion.CABundle()).Build()
	w := running.Install(t, cp, crd)
	w.Create(n)
	w.Flip("v1")
	conversion.Refuse(func(*http.Request) bool { return true })
	gate := running.GateFor(w)
	gate.Ask()
	stop := running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{})

	g.Expect(w.CRDs().Delete(t.Context(), crd.Name, metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(gate.Verdict, running.Soon).Should(ContainSubstring(v1alpha1.ReasonDeletionFailed))
	g.Expect(gate.Message()).To(And(ContainSubstring("its objects cannot be"), ContainSubstring("finalizer")))
	_, err := w.CRDs().Patch(t.Context(), crd.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(gate.Message, running.Soon).Should(ContainSubstring("may be left in etcd at v1alpha1"))
	g.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": n}))

	stop()
	running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{})
	g.Consistently(gate.Verdict, 3*time.Second).Should(ContainSubstring(v1alpha1.ReasonDeletionFailed), "another process knows no better")
}

// Nothing has failed yet: the objects wait for their own finalizers when the CRD's is taken off. The last that is seen is the same as when the
// API server has deleted them all.
func TestACRDThatIsForcedAwayAtOnceOpensNoGate(t *testing.T) {
	g := NewWithT(t)
	const n = 5
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
	w := running.Install(t, cp, crd)
	w.Create(n, builders.Each(func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/waits"}) }))
	gate := running.GateFor(w)
	gate.Ask()
	running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{})
	g.Eventually(gate.Verdict, running.Soon).Should(ContainSubstring(v1alpha1.ReasonIntermediateRevisionRequired))

	g.Expect(w.CRDs().Delete(t.Context(), crd.Name, metav1.DeleteOptions{})).To(Succeed())
	_, err := w.CRDs().Patch(t.Context(), crd.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(gate.Message, running.Soon).Should(And(ContainSubstring("there is no CRD"), ContainSubstring("left in etcd")))
	g.Expect(gate.Verdict()).To(Equal("False " + v1alpha1.ReasonDeletionUnproved + " Reconciling"))
	g.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": n}))

	another := *gate
	another.Name.Name = "another"
	another.Ask(func(r *v1alpha1.VersionRemoval) { r.Name = another.Name.Name })
	g.Eventually(another.Verdict, running.Soon).Should(ContainSubstring(v1alpha1.ReasonDeletionUnproved), "one that is made now knows no better")
	gate.Withdraw()
	another.Withdraw()
	gate.Ask()
	g.Eventually(gate.Verdict, running.Soon).Should(ContainSubstring(v1alpha1.ReasonNothingStored), "a person has looked, and had it made anew")
}
