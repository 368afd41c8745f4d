package removal_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
