package faults_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/faults"
)

func (w *world) secondAPIServer() *controlplane.APIServer {
	w.t.Helper()
	server, err := w.cp.SecondAPIServer()
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { _ = server.Stop() })
	return server
}

// restarted kills the API server in mid-pass. The one that takes its place is reached at the same address.
func restarted(w *world) {
	first := w.secondAPIServer()
	w.balanced(first.Config)
	w.flip()
	w.begin()
	w.midPass(func() { w.start() })
	w.Expect(first.Kill()).To(Succeed())
	w.balanced(w.secondAPIServer().Config)
}

// compactable has the API servers read old lists from etcd and not from their own caches, which forget them some fifteen
// seconds after etcd does.
var compactable = []controlplane.Option{controlplane.Flag("feature-gates", "ListFromCacheSnapshot=false")}

// compacted compacts etcd while a list is under way, as the API servers do every five minutes, so that what was begun
// cannot be continued.
func compacted(w *world) {
	var gone atomic.Int64
	lists := w.proxy.Inject(faults.Rule{Path: continued, Fault: faults.Tell(func(code int) {
		if code == 410 {
			gone.Add(1)
		}
	})})
	w.flip()
	w.begin()
	w.midPass(func() { w.start(func(o *migration.Options) { o.PageSize, o.MaxInFlight = 5, 1 }) })
	w.until("a continued list is refused", func() bool {
		_ = w.judge.Compact(w.ctx) // nothing new to compact is an error
		return gone.Load() > 0 || lists.Hits() > 30
	})
	w.Expect(gone.Load()).To(BeNumerically(">", 0), "the API server itself must say that the list has expired")
}

// lagging has one of two API servers stand still for eight seconds across the flip, while others write through it at the
// old version. What it was asked in the meantime, and what it is asked before it has heard of the flip, it stores at the
// old version, objects among it that were rewritten before. When it is back the controller talks to both in turn.
func lagging(w *world) {
	const still = 8 * time.Second
	w.settle = still + 4*time.Second
	second := w.secondAPIServer()
	stop := w.writeAt("v1alpha1", second.Config)
	time.Sleep(time.Second)
	w.Expect(second.Pause()).To(Succeed())
	w.flip()
	var wrote atomic.Int64
	back := time.AfterFunc(still, func() {
		_ = second.Resume()
		_ = w.proxy.Target(w.cp.Config, second.Config)
		time.Sleep(time.Second) // what the server held arrives meanwhile, and what it was asked before it knew better
		wrote.Store(stop())
	})
	w.t.Cleanup(func() { back.Stop() })
	w.begin()
	w.start()
	w.until("the writers have ended", func() bool { return wrote.Load() > 0 })
	w.Expect(wrote.Load()).To(BeNumerically(">", 20), "they must have been busy")
}

// killPoint is a kind of request at which the controller can be killed; most is how many of them a migration has.
type killPoint struct {
	name  string
	verbs []string
	path  *regexp.Regexp
	most  int
}

var killPoints = []killPoint{
	{"any request", nil, nil, 160},
	{"a write to an object", patch, widgetPath, 80},
	{"a list of objects", []string{"list"}, objectPath, 4},
	{"a write to the CRD's status", patch, crdStatusPath, 5},
	{"a write to the gate's status", patch, gatePath, 6},
}

// killed kills the controller, as often as -faults.kills says, at requests of each kind in turn. The seed decides at which
// one, and whether that is carried out or lost. The next controller starts at once. Each time all is migrated the storage
// flips the other way.
func killed(w *world) {
	random := rand.New(rand.NewPCG(*seedFlag, 1))
	w.flip()
	w.begin()
	for kills, try := 0, 0; kills < *killsFlag; try++ {
		point := killPoints[try%len(killPoints)]
		after, carriedOut := random.IntN(point.most), random.IntN(2) == 0
		p := w.run()
		fault := faults.InsteadOf(p.kill)
		if carriedOut {
			fault = faults.RightAfter(p.kill)
		}
		armed := w.proxy.Inject(faults.Rule{Verbs: point.verbs, Path: point.path, After: after, Times: 1, Fault: fault})
		w.until("the controller is killed, or has got through", func() bool { return p.isDead() || w.isDone() })
		armed.Heal()
		if armed.Hits() > 0 { // perhaps just now, at the last request of all
			p.kill()
			kills++
			w.t.Logf("kill %d: at %s, after %d of them, carried out: %v; stored: %v", kills, point.name, after, carriedOut, w.stored("widgets"))
			continue
		}
		w.completes()
		p.kill()
		w.unask()
		w.flip()
		w.begin()
	}
	w.keep()
}

// wayBack are the points at which the controller is killed on the way back to a version that had left, in their order.
var wayBack = []struct {
	killPoint

	carriedOut bool
}{
	{killPoint{"between the flip and the pass", []string{"list"}, objectPath, 0}, false},
	{killPoint{"early in the pass", patch, widgetPath, 5}, true},
	{killPoint{"in the middle of the pass", patch, widgetPath, 20}, false},
	{killPoint{"between the pass and the check", []string{"list"}, objectPath, 2}, false},
	{killPoint{"when the CRD's status is to be written", patch, crdStatusPath, 0}, false},
	{killPoint{"when the CRD's status is written", patch, crdStatusPath, 1}, true},
	{killPoint{"when the CRD's status is written once more", patch, crdStatusPath, 2}, true},
	{killPoint{"when the gate is to be written", patch, gatePath, 0}, false},
	{killPoint{"when the gate is written", patch, gatePath, 0}, true},
	{killPoint{"when the gate is written once more", patch, gatePath, 1}, true},
}

// killedOnTheWayBack takes both CRDs to v1, removes v1alpha1, and goes back as the plan says: the version is served again, then
// stored, then rewritten, and the gate asks for v1 to go. The controller is killed at each of these points.
func killedOnTheWayBack(w *world) {
	w.flip()
	w.begin()
	p := w.run()
	w.completes()
	w.lists(w.to)
	w.until("the version has left", func() bool { return w.verdict() == "True "+v1alpha1.ReasonAlreadyRemoved })
	p.kill()
	w.unask()
	w.lists(w.from, w.to)
	w.Expect(builders.WaitServed(w.ctx, w.cp.Config, w.live("widgets"))).To(Succeed())
	w.flip()
	w.begin()
	reached := 0
	for _, point := range wayBack {
		p := w.run()
		fault := faults.InsteadOf(p.kill)
		if point.carriedOut {
			fault = faults.RightAfter(p.kill)
		}
		armed := w.proxy.Inject(faults.Rule{Verbs: point.verbs, Path: point.path, After: point.most, Times: 1, Fault: fault})
		w.until("the controller is killed "+point.name+", or has got through", func() bool { return p.isDead() || w.isDone() })
		armed.Heal()
		if !p.isDead() {
			p.kill() // on a busy machine, a point can come when all is done
			break
		}
		reached++
		w.sync()
		w.t.Logf("killed %s; stored: %v, storedVersions: %v, gate: %s", point.name, w.stored("widgets"), w.live("widgets").Status.StoredVersions, w.verdict())
	}
	w.Expect(reached).To(BeNumerically(">", 3), "it is killed in the pass")
	w.keep()
}

// lists has the CRD of the widgets list some of its versions, and store as before.
func (w *world) lists(versions ...string) {
	w.t.Helper()
	w.Expect(builders.Update(w.ctx, w.cp.Config, "widgets."+w.group, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions = nil
		for _, v := range w.crd("widgets").Build().Spec.Versions {
			if v.Storage = v.Name == w.to; slices.Contains(versions, v.Name) {
				crd.Spec.Versions = append(crd.Spec.Versions, v)
			}
		}
	})).To(Succeed())
}

var elected = []string{"--enable-leader-election", "--leader-election-lease-duration", "9s", "--leader-election-renew-deadline", "7s", "--leader-election-retry-period", "1s"}

// elect runs two controllers of which the first one leads and is in mid-pass.
func (w *world) elect() (leader *process) {
	w.t.Helper()
	flags := append([]string{"--leader-election-namespace", w.namespace, "--max-in-flight", "2"}, elected...)
	w.flip()
	w.begin()
	w.midPass(func() { leader = w.run(flags...) })
	w.keep(flags...)
	return leader
}

func leaderKilled(w *world) { w.elect().kill() }

// leaderStopped lets the first leader go on with what it was doing when it is no longer the leader.
func leaderStopped(w *world) {
	leader := w.elect()
	leader.signal(syscall.SIGSTOP)
	before := w.writes()
	w.until("the other one has taken over", func() bool { return before.Hits() > 5 })
	leader.signal(syscall.SIGCONT)
	w.until("the first leader notices and ends", leader.isDead)
}
