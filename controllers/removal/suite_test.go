package removal_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	running.Quiet()
	controlplane.Run(m, &cp, controlplane.Own("a test pauses an API server"))
}

// soon is longer than two looks through a cluster take on a busy machine, with the rest between them, which is five times a look.
const soon = 3 * running.Soon

// gate is one VersionRemoval and its CRD, seen from outside.
type gate struct {
	*WithT
	*running.Gate
	t      *testing.T
	ctx    context.Context
	client client.Client
}

// newGate has no CRD and no VersionRemoval yet.
func newGate(t *testing.T, group string) *gate {
	t.Helper()
	seen := running.WitnessOf(t, cp, schema.GroupResource{Group: group, Resource: "widgets"})
	return &gate{WithT: NewWithT(t), Gate: running.GateFor(seen), t: t, ctx: t.Context(), client: running.Client(t, cp.Config)}
}

// widgets is a CRD whose objects are stored at v1alpha1, and its gate.
func widgets(t *testing.T) (*gate, *builders.CRDBuilder) {
	t.Helper()
	group := builders.UniqueGroup(t)
	return newGate(t, group), builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn()
}

// flipped is the gate of a CRD with n objects stored at v1alpha1 and v1 as the
// storage version.
func flipped(t *testing.T, n int) *gate {
	t.Helper()
	g, crd := widgets(t)
	running.InstallFlipped(t, cp, crd.Build(), n)
	return g
}

// begun is such a gate once v1alpha1 is asked to go and Moult is at work.
func begun(t *testing.T, n int, change ...change) *gate {
	t.Helper()
	g := flipped(t, n)
	g.Ask()
	g.moult(change...)
	return g
}

// install installs a CRD with n objects stored at v1alpha1.
func (g *gate) install(crd *builders.CRDBuilder, n int) {
	g.t.Helper()
	running.Install(g.t, cp, crd.Build()).Create(n)
}

// change is what a test wants to be otherwise about the reconcilers.
type change func(*migration.Options, *removal.Options)

func settle(d time.Duration) change {
	return func(m *migration.Options, _ *removal.Options) { m.Settle = d }
}

// moult runs both reconcilers until the test ends or stop is called.
func (g *gate) moult(change ...change) (stop func()) {
	g.t.Helper()
	return g.moultAt(cp.Config, change...)
}

func (g *gate) moultAt(cfg *rest.Config, change ...change) (stop func()) {
	g.t.Helper()
	m, r := running.Quick(g.GR.Group), removal.Options{Namespaces: []string{g.Name.Namespace}}
	for _, c := range change {
		c(&m, &r)
	}
	return running.Moult(g.t, cfg, m, r)
}

// settling runs both reconcilers across the flip, until all objects are rewritten. Then they wait for the settle time, which is too
// long to end in any test, and are ended. Before the flip the schemas are there for that long, and before is called.
func (g *gate) settling(all string, before ...func()) {
	g.t.Helper()
	clock := &running.Clock{}
	stop := g.moult(settle(time.Hour), func(m *migration.Options, _ *removal.Options) { m.Clock = clock })
	g.Eventually(g.Reason, soon).Should(Equal(v1alpha1.ReasonSettling))
	for _, f := range before {
		f()
	}
	clock.Leap(time.Hour)
	g.Flip("v1")
	g.Eventually(g.progress, soon).Should(Equal(all))
	g.eventually("False Settling Reconciling")
	stop()
}

// eventually waits for a verdict on the VersionRemoval as it is now.
func (g *gate) eventually(verdict string) {
	g.t.Helper()
	g.Eventually(g.Verdict, soon).Should(Equal(verdict), func() string { return g.Message() })
	g.Eventually(func() bool { // written right after the conditions
		r := g.Removal()
		return r.Status.ObservedGeneration == r.Generation
	}, soon).Should(BeTrue())
}

// queued waits until what was to be answered in the gate's namespace has been. It asks about a CRD that does not exist: that is
// answered as soon as it is its turn, and within a namespace first come is first served.
func (g *gate) queued() {
	g.t.Helper()
	g.queuedIn(g.Name.Namespace)
}

func (g *gate) queuedIn(namespace string) {
	g.t.Helper()
	last := &v1alpha1.VersionRemoval{}
	g.Ask(func(r *v1alpha1.VersionRemoval) {
		r.Namespace, r.Name, r.GenerateName, r.Spec.CRDName = namespace, "", "last-", "nothings."+g.GR.Group
		last = r
	})
	g.Eventually(func() (string, error) {
		err := g.client.Get(g.ctx, client.ObjectKeyFromObject(last), last)
		return running.VerdictOf(last), err
	}, soon).Should(Equal("True NothingStored"))
}

// proof is what the status says of the proof; it is written right after the
// conditions.
func (g *gate) proof() *v1alpha1.ProofStatus {
	g.t.Helper()
	return g.Removal().Status.Proof
}

// blockers are what keeps the gate shut; written right after the conditions, too.
func (g *gate) blockers() []v1alpha1.Blocker {
	g.t.Helper()
	return g.Removal().Status.Blockers
}

// progress is the column PROGRESS; written right after the conditions, and a
// second time where the first one was computed from a stale cache.
func (g *gate) progress() string {
	g.t.Helper()
	if p := g.Removal().Status.Progress; p != nil {
		return p.Summary
	}
	return ""
}

// patch changes the VersionRemoval.
func (g *gate) patch(body string) {
	g.t.Helper()
	g.Expect(g.client.Patch(g.ctx, g.Removal(), mergePatch(body))).To(Succeed())
}
