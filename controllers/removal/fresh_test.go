package removal_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
)

// A gate opens on a look of its own: one that began after everything that it could have missed.

// quiet asks for a quiet period.
func quiet(period time.Duration) func(*v1alpha1.VersionRemoval) {
	return func(r *v1alpha1.VersionRemoval) {
		r.Spec.Require, r.Spec.QuietPeriod = []v1alpha1.Requirement{v1alpha1.Quiet}, metav1.Duration{Duration: period}
	}
}

func TestAGateThatAsksForQuietStaysShutWhileSomebodyWrites(t *testing.T) {
	t.Parallel()
	g := flipped(t, 3)
	const period = 4 * time.Second
	stopWriting, lastWrite := g.writeAtV1alpha1("object-00001")
	g.Ask(quiet(period))
	g.moult()
	g.eventually("False StillWritten Reconciling")
	first := lastWrite()
	g.Eventually(func() time.Time {
		g.Expect(g.Verdict()).To(Equal("False StillWritten Reconciling"))
		return g.Removal().Status.LastWriteAt.Time
	}, soon).Should(BeTemporally(">", first.Add(period)), "a whole period passes in which it stays shut")
	stopWriting()
	g.eventually("True SafeToRemove")
	g.Expect(time.Now()).To(BeTemporally(">=", lastWrite().Truncate(time.Second).Add(period)))
	g.Expect(g.versionsInManagedFields()).NotTo(HaveKey(g.GR.Group + "/v1alpha1"))
}

// writeAtV1alpha1 changes an object five times a second until stop is called.
func (g *gate) writeAtV1alpha1(name string) (stop func(), last func() time.Time) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.ctx)
	objects, at, ended := g.Objects("v1alpha1"), atomic.Int64{}, make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ctx.Err() == nil; n++ {
			body := fmt.Appendf(nil, `{"spec":{"size":%d}}`, 1000+n)
			asked := time.Now() // The API server gives the write its time after this, and perhaps a second before the answer.
			_, err := objects.Patch(context.WithoutCancel(ctx), name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "late-writer"})
			if err == nil {
				at.Store(asked.UnixNano())
			}
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	g.t.Cleanup(stop)
	g.Eventually(at.Load, soon).ShouldNot(BeZero(), "the writer must be at work")
	return stop, func() time.Time { return time.Unix(0, at.Load()) }
}

func TestALastWriteInTheFutureCountsAsNow(t *testing.T) {
	t.Parallel()
	g := newGate(t, builders.UniqueGroup(t))
	g.install(builders.CRD(g.GR.Group, "widgets").Versions("v1alpha1", "v1").OptedIn(), 0)
	g.Ask(quiet(time.Hour))
	future := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	g.Expect(g.client.Status().Patch(g.ctx, g.Removal(), mergePatch(fmt.Sprintf(`{"status":{"lastWriteAt":%q}}`, future)))).To(Succeed())
	g.moult()
	g.eventually("False StillWritten Reconciling")
	g.Expect(g.Removal().Status.LastWriteAt.Time).To(BeTemporally("<=", time.Now()))
}

func TestEachGateOpensOnALookThatBeganAfterItHadAsked(t *testing.T) {
	t.Parallel()
	g := begun(t, 10)
	g.eventually("True SafeToRemove")

	// The managedFields have been looked through for another gate, and then somebody writes.
	g.Expect(builders.CreateObjects(g.ctx, cp.Config, g.GR.WithVersion("v1alpha1"), "default", 1, builders.Prefix("late"))).To(Succeed())
	g.Expect(g.versionsInManagedFields()).To(HaveKey(g.GR.Group + "/v1alpha1"))
	second := client.ObjectKey{Namespace: g.Name.Namespace, Name: "second"}
	g.Ask(func(r *v1alpha1.VersionRemoval) { r.Name = second.Name })
	g.Name = second
	g.eventually("True SafeToRemove")
	g.Expect(g.versionsInManagedFields()).NotTo(HaveKey(g.GR.Group+"/v1alpha1"), "open while managedFields name v1alpha1")

	// So has it when a person reopens it.
	g.patch(`{"metadata":{"annotations":{"moult.dev/paused":"true"}}}`)
	g.eventually("False Paused Reconciling")
	g.Expect(builders.CreateObjects(g.ctx, cp.Config, g.GR.WithVersion("v1alpha1"), "default", 1, builders.Prefix("later"))).To(Succeed())
	g.patch(`{"metadata":{"annotations":null}}`)
	g.eventually("True SafeToRemove")
	g.Expect(g.versionsInManagedFields()).NotTo(HaveKey(g.GR.Group+"/v1alpha1"), "open again while managedFields name v1alpha1")
}

func TestARequestIsAnsweredOnceALookThatBeganAfterItHasEnded(t *testing.T) {
	t.Parallel()
	g := flipped(t, 10)
	g.Ask()
	lists := g.holdLists()
	g.moultAt(lists.on(cp.Config))
	g.eventually("True SafeToRemove")
	lists.hold()
	g.patch(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"now"}}}`)
	handled := func() string { return g.Removal().Status.LastHandledReconcileAt }
	g.Eventually(lists.held.Load, soon).Should(BeNumerically(">", 0), "the request asks for a look")
	g.queued()
	g.Expect(handled()).To(BeEmpty(), "nothing has been looked at yet")
	g.Expect(g.Verdict()).To(Equal("True SafeToRemove"), "an open gate stays open meanwhile")
	lists.release()
	g.Eventually(handled, soon).Should(Equal("now"))
}

// Where nothing can be looked at, there is nothing to wait for.
func TestARequestIsAnsweredAtOnceWhereNothingCanBeLookedAt(t *testing.T) {
	t.Parallel()
	g := newGate(t, builders.UniqueGroup(t))
	g.Ask(func(r *v1alpha1.VersionRemoval) {
		r.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": "first"}
	})
	g.moult()
	handled := func() string { return g.Removal().Status.LastHandledReconcileAt }
	g.eventually("True NothingStored")
	g.Eventually(handled, soon).Should(Equal("first"))
	g.install(builders.CRD(g.GR.Group, "widgets").Versions("v1alpha1", "v1"), 0)
	g.eventually("False NotOptedIn Stalled")
	g.patch(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"second"}}}`)
	g.Eventually(handled, soon).Should(Equal("second"))
}

// listHolder holds the lists of a gate's objects while it is set to, and counts them.
type listHolder struct {
	gate  *gate
	count atomic.Int64
	held  atomic.Int64

	mu     sync.Mutex
	closed chan struct{} // nil while lists are let through
}

func (g *gate) holdLists() *listHolder {
	h := &listHolder{gate: g}
	g.t.Cleanup(h.release)
	return h
}

func (h *listHolder) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = make(chan struct{})
}

func (h *listHolder) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed != nil {
		close(h.closed)
		h.closed = nil
	}
}

// on is a way to the API server on which lists are held.
func (h *listHolder) on(cfg *rest.Config) *rest.Config {
	return via(cfg, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		gr := h.gate.GR
		if req.Method != http.MethodGet || !strings.HasPrefix(req.URL.Path, "/apis/"+gr.Group+"/") || !strings.HasSuffix(req.URL.Path, "/"+gr.Resource) {
			return next.RoundTrip(req)
		}
		if req.URL.Query().Get("continue") == "" {
			h.count.Add(1)
		}
		h.mu.Lock()
		closed := h.closed
		h.mu.Unlock()
		if closed != nil {
			h.held.Add(1)
			select {
			case <-closed:
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
		}
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// via is a way to the API server on which every request is seen first.
func via(cfg *rest.Config, see func(req *http.Request, next http.RoundTripper) (*http.Response, error)) *rest.Config {
	c := rest.CopyConfig(cfg)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return see(req, next) })
	})
	return c
}

// What shows that somebody has written stays in the object until that counts no more: nothing else remembers it for certain.
func TestAWriteIsRememberedByItsObjectAsLongAsItCounts(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 0)
	g.Flip("v1")
	g.Eventually(func() error { return g.apply(cp.Config, 0, "v1alpha1", oldTool, map[string]any{"size": int64(1)}) }, soon).Should(Succeed())
	written := time.Now()
	often := func(_ *migration.Options, o *removal.Options) { o.SurveyInterval = time.Second }
	stop := g.moult(often)
	for range 2 { // all that was known of the write is lost
		g.Ask(quiet(time.Hour))
		g.eventually("False StillWritten Reconciling")
		g.Expect(g.Stored()).To(Equal(map[string]int{"v1": 1}))
		g.Expect(g.Removal().Status.LastWriteAt.Time).To(BeTemporally("~", written, 2*time.Second))
		g.Expect(g.versionsInManagedFields()).To(HaveKey(g.GR.Group + "/v1alpha1"))
		g.Expect(g.client.Delete(g.ctx, g.Removal())).To(Succeed())
		stop()
		stop = g.moult(often)
	}
	g.Ask() // for one that does not wait, it is moved
	g.eventually("True SafeToRemove")
	g.Expect(g.versionsInManagedFields()).NotTo(HaveKey(g.GR.Group + "/v1alpha1"))
}

// A gate that does not wait has the entry moved. What it knows of the write is known to all that come later, also after a restart.
func TestAWriteThatAnotherTeamsGateHasSeenCounts(t *testing.T) {
	for name, asks := range map[string]func(g *gate){
		"one is made":    func(g *gate) { g.Ask(quiet(time.Hour)) },
		"one is changed": func(g *gate) { g.patch(`{"spec":{"versions":["v1alpha1"]}}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, crd := widgets(t)
			g.install(crd.Versions("v1alpha1", "v1alpha2", "v1"), 0)
			g.Flip("v1")
			own, team := g.Name, client.ObjectKey{Namespace: "team-" + g.Name.Namespace, Name: "gate"}
			both := func(_ *migration.Options, r *removal.Options) {
				r.Namespaces = []string{own.Namespace, team.Namespace}
			}
			stop := g.moult(both)
			if name == "one is changed" {
				g.Ask(quiet(time.Hour), func(r *v1alpha1.VersionRemoval) { r.Spec.Versions = []string{"v1alpha2"} })
				g.eventually("True SafeToRemove")
			}
			g.Eventually(func() error { return g.apply(cp.Config, 0, "v1alpha1", oldTool, map[string]any{"size": int64(1)}) }, soon).Should(Succeed())
			g.namespace(team.Namespace)
			g.Name = team
			g.Ask()
			g.eventually("True SafeToRemove")
			g.Expect(g.versionsInManagedFields()).NotTo(HaveKey(g.GR.Group + "/v1alpha1"))
			stop()
			g.moult(both)
			g.Name = own
			asks(g)
			g.eventually("False StillWritten Reconciling")
		})
	}
}

func TestAWriteRightBeforeItsVersionLeavesCountsOnceItIsBack(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 0)
	g.Flip("v1")
	g.moult()
	g.Ask(quiet(time.Hour))
	g.eventually("True SafeToRemove")
	g.Eventually(func() error { return g.apply(cp.Config, 0, "v1alpha1", oldTool, map[string]any{"size": int64(1)}) }, soon).Should(Succeed())
	g.Eventually(func() error { return builders.RemoveVersion(g.ctx, cp.Config, g.GR.String(), "v1alpha1") }, soon).Should(Succeed())
	g.eventually("True AlreadyRemoved")
	g.Eventually(g.versionsInManagedFields, soon).ShouldNot(HaveKey(g.GR.Group + "/v1alpha1"))
	g.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		back := *crd.Spec.Versions[0].DeepCopy()
		back.Name, back.Storage = "v1alpha1", false
		crd.Spec.Versions = append(crd.Spec.Versions, back)
	})
	g.eventually("False StillWritten Reconciling")
}
