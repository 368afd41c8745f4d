package removal_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
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
	stop := running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{})
	g.Eventually(gate.Verdict, running.Soon).Should(ContainSubstring(v1alpha1.ReasonIntermediateRevisionRequired))

	g.Expect(w.CRDs().Delete(t.Context(), crd.Name, metav1.DeleteOptions{})).To(Succeed())
	_, err := w.CRDs().Patch(t.Context(), crd.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(gate.Message, running.Soon).Should(And(ContainSubstring("there is no CRD"), ContainSubstring("left in etcd")))
	g.Expect(gate.Verdict()).To(Equal("False " + v1alpha1.ReasonDeletionUnproved + " Reconciling"))
	g.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": n}))

	stop()
	var others []*running.Gate
	for i := range 5 {
		another := *gate
		another.Name.Name = fmt.Sprint("another-", i)
		another.Ask(func(r *v1alpha1.VersionRemoval) { r.Name = another.Name.Name })
		others = append(others, &another)
	}
	running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{})
	for _, another := range others {
		g.Eventually(another.Verdict, running.Soon).Should(ContainSubstring(v1alpha1.ReasonDeletionUnproved), "one that is made now knows no better, whichever is looked at first")
	}
	for _, each := range append(others, gate) {
		each.Withdraw()
	}
	gate.Ask()
	g.Eventually(gate.Verdict, running.Soon).Should(ContainSubstring(v1alpha1.ReasonNothingStored), "a person has looked, and had it made anew")
}

// What was proved of a CRD holds while it goes as it was.
func TestACRDThatGoesIsAsItWasProved(t *testing.T) {
	for name, c := range map[string]struct {
		changes func(w *running.Witness, gate *running.Gate)
		going   string
	}{
		"as it was":              {func(*running.Witness, *running.Gate) {}, v1alpha1.ReasonNotEstablished},
		"the storage flips back": {func(w *running.Witness, _ *running.Gate) { w.Flip("v1alpha1") }, v1alpha1.ReasonDeletionUnproved},
		"the storage version is to go": {func(_ *running.Witness, gate *running.Gate) {
			gate.Change(func(r *v1alpha1.VersionRemoval) { r.Spec.Versions = []string{"v1alpha1", "v1"} })
		}, v1alpha1.ReasonDeletionUnproved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
			w := running.InstallFlipped(t, cp, crd, 3, builders.Each(func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/waits"}) }))
			gate := running.GateFor(w)
			gate.Ask()
			running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{})
			g.Eventually(gate.Verdict, running.Soon).Should(Equal("True " + v1alpha1.ReasonSafeToRemove))

			g.Expect(w.CRDs().Delete(t.Context(), crd.Name, metav1.DeleteOptions{})).To(Succeed())
			g.Eventually(gate.Verdict, running.Soon).Should(ContainSubstring(v1alpha1.ReasonNotEstablished))
			c.changes(w, gate)
			g.Eventually(gate.Verdict, running.Soon).Should(ContainSubstring(c.going))
			_, err := w.CRDs().Patch(t.Context(), crd.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			gone := "True " + v1alpha1.ReasonNothingStored // the objects are at v1
			if c.going == v1alpha1.ReasonDeletionUnproved {
				gone = "False " + v1alpha1.ReasonDeletionUnproved + " Reconciling"
			}
			g.Eventually(gate.Message, running.Soon).Should(ContainSubstring("there is no CRD"))
			g.Expect(gate.Verdict()).To(Equal(gone))
		})
	}
}

// One that asks for what the proof says nothing about learns that from those beside it, whether it is made or edited.
func TestWhatIsLeftOfACRDIsAskedOfTheOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
	w := running.InstallFlipped(t, cp, crd, 3, builders.Each(func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/waits"}) }))
	gate, next := running.GateFor(w), running.GateFor(w)
	next.Name = gate.Name
	next.Name.Name = "next"
	gate.Ask()
	running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{Namespaces: []string{gate.Name.Namespace}})
	g.Eventually(gate.Verdict, running.Soon).Should(Equal("True " + v1alpha1.ReasonSafeToRemove))
	g.Expect(w.CRDs().Delete(t.Context(), crd.Name, metav1.DeleteOptions{})).To(Succeed())
	_, err := w.CRDs().Patch(t.Context(), crd.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	const unproved = "False " + v1alpha1.ReasonDeletionUnproved + " Reconciling"
	g.Eventually(gate.Verdict, running.Soon).Should(Equal("True "+v1alpha1.ReasonNothingStored), "the objects are at v1")
	g.Expect(w.Stored()).To(Equal(map[string]int{"v1": 3}))

	next.Ask(func(r *v1alpha1.VersionRemoval) { r.Name, r.Spec.Versions = next.Name.Name, []string{"v1"} })
	g.Eventually(next.Verdict, running.Soon).Should(Equal(unproved))
	next.Change(func(r *v1alpha1.VersionRemoval) { r.Spec.Versions = []string{"v1beta1"} })
	g.Eventually(next.Verdict, running.Soon).Should(Equal("True "+v1alpha1.ReasonNothingStored), "nothing was ever stored at it")
	gate.Change(func(r *v1alpha1.VersionRemoval) { r.Spec.Versions = []string{"v1alpha1", "v1"} })
	g.Eventually(gate.Verdict, running.Soon).Should(Equal(unproved))
}

// A gate closes even where the condition on the CRD cannot be taken back, or not in time.
func TestAGateClosesWhileTheStatusOfTheCRDCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]bool{"it fails": false, "it takes long": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := flipped(t, 3)
			g.Ask()
			all := []*running.Gate{g.Gate}
			for i := range 6 { // more than are answered at a time
				one := *g.Gate
				one.Name.Name = fmt.Sprint("another-", i)
				one.Ask(func(r *v1alpha1.VersionRemoval) { r.Name = one.Name.Name })
				all = append(all, &one)
			}
			failing, healed := &atomic.Bool{}, make(chan struct{})
			g.moultAt(via(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
				if !failing.Load() || req.Method == http.MethodGet || !strings.HasSuffix(req.URL.Path, "/customresourcedefinitions/widgets."+g.GR.Group+"/status") {
					return next.RoundTrip(req)
				}
				if waits {
					<-healed
				}
				answer := httptest.NewRecorder()
				http.Error(answer, "failed calling webhook", http.StatusInternalServerError)
				return answer.Result(), nil
			}))
			each := func(verdict string) {
				for _, one := range all {
					g.Eventually(one.Verdict, soon).Should(HavePrefix(verdict), one.Name.Name)
				}
			}
			each("True SafeToRemove")
			failing.Store(true)
			g.Flip("v1alpha1")
			each("False " + v1alpha1.ReasonIntermediateRevisionRequired)
			failing.Store(false)
			close(healed)
			g.Flip("v1")
			each("True SafeToRemove")
		})
	}
}

// flippedAsItOpens is a gate whose storage version flips back while the condition on the CRD is written for the first time, until it may go on.
func flippedAsItOpens(t *testing.T) (g *gate, goOn chan struct{}) {
	t.Helper()
	g = flipped(t, 3)
	g.Ask()
	writes, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	g.moultAt(via(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/customresourcedefinitions/widgets."+g.GR.Group+"/status") {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(v1alpha1.VersionsRemovable)) {
				once.Do(func() {
					close(writes)
					<-goOn
				})
			}
		}
		return next.RoundTrip(req)
	}))
	g.Eventually(writes, soon).Should(BeClosed())
	g.Flip("v1alpha1")
	return g, goOn
}

// What was found before the condition on the CRD was written need not be true any more once it is.
func TestAGateOpensByWhatIsSoWhenTheCRDSaysIt(t *testing.T) {
	t.Parallel()
	g, goOn := flippedAsItOpens(t)
	g.Eventually(func() string { return g.Reason() }, soon).ShouldNot(Equal(v1alpha1.ReasonMigrated))
	close(goOn)
	g.Consistently(g.Verdict, 3*time.Second, "5ms").ShouldNot(HavePrefix("True"))
	g.Eventually(g.Verdict, soon).Should(HavePrefix("False " + v1alpha1.ReasonIntermediateRevisionRequired))
}

// What changed of a CRD since it was looked at last shows by how it went.
func TestACRDThatWasChangedUnseenBeforeItWentHoldsTheGate(t *testing.T) {
	t.Parallel()
	g, goOn := flippedAsItOpens(t)
	g.Expect(g.apply(cp.Config, 0, "v1alpha1", oldTool, map[string]any{"size": int64(1)})).To(Succeed())
	_, err := g.Objects("v1alpha1").Patch(t.Context(), "owned-0", types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/waits"]}}`), metav1.PatchOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	name := "widgets." + g.GR.Group
	g.Expect(g.CRDs().Delete(t.Context(), name, metav1.DeleteOptions{})).To(Succeed())
	_, err = g.CRDs().Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	close(goOn)
	g.Eventually(g.Verdict, soon).Should(Equal("False " + v1alpha1.ReasonDeletionUnproved + " Reconciling"))
	g.Consistently(g.Verdict, 3*time.Second, "50ms").ShouldNot(HavePrefix("True"))
	g.Expect(g.Stored()).To(HaveKeyWithValue("v1alpha1", 1))
}

// Somebody who writes to a gate all the time does not keep it from closing.
func TestAGateClosesWhileItIsWrittenAllTheTime(t *testing.T) {
	t.Parallel()
	g := flipped(t, 3)
	g.Ask()
	var busy atomic.Bool
	g.moultAt(via(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if busy.Load() && req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/versionremovals/"+g.Name.Name+"/status") {
			removal := &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: g.Name.Namespace, Name: g.Name.Name}}
			if err := g.client.Patch(req.Context(), removal, mergePatch(fmt.Sprintf(`{"metadata":{"annotations":{"example.com/at":%q}}}`, time.Now()))); err != nil {
				return nil, err
			}
		}
		return next.RoundTrip(req)
	}))
	g.Eventually(g.Verdict, soon).Should(HavePrefix("True SafeToRemove"))
	busy.Store(true)
	g.Flip("v1alpha1")
	g.Eventually(g.Verdict, soon).Should(HavePrefix("False " + v1alpha1.ReasonIntermediateRevisionRequired))
}

// An admission policy sees the CRD alone.
func TestAGateThatCannotSaySoIsNotCalledRemovable(t *testing.T) {
	t.Parallel()
	g := flipped(t, 3)
	g.Ask()
	var refused atomic.Bool
	g.moultAt(via(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !refused.Load() || req.Method != http.MethodPatch || !strings.HasSuffix(req.URL.Path, "/versionremovals/"+g.Name.Name+"/status") {
			return next.RoundTrip(req)
		}
		answer := httptest.NewRecorder()
		http.Error(answer, "failed calling webhook", http.StatusInternalServerError)
		return answer.Result(), nil
	}))
	g.eventually("True SafeToRemove")
	g.Expect(crds.CalledRemovable(g.Live())).To(Equal([]string{"v1alpha1"}))
	refused.Store(true)
	g.patch(`{"metadata":{"annotations":{"moult.dev/paused":"true"}}}`)
	g.Eventually(func() []string { return crds.CalledRemovable(g.Live()) }, soon).Should(BeEmpty())
	g.Expect(g.Verdict()).To(Equal("True SafeToRemove"), "it could not be written")
}
