package faults_test

import (
	"math/rand/v2"
	"regexp"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/controllers/migration"
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
