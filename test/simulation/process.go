package simulation

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moult-dev/moult/controllers/migration"
)

// start runs a process of the controller until it is killed.
func (w *world) start(number int, p Process) {
	w.tell("process %d starts", number)
	ready := time.Now().Add(startTime)
	wire := &wire{world: w, process: number, belief: w.migrator.Belief, dead: make(chan struct{}), sight: p.Sight, ready: ready, said: map[string]int{}, visited: map[string]int64{}}
	store := migration.NewStateStore()
	ctx, cancel := context.WithCancel(context.Background())
	host := newHost(wire)
	isSetUp := &atomic.Bool{}
	if err := migration.SetupWithManager(host, w.migrator.options(store, offClock{isSetUp: isSetUp, ready: ready, offset: p.Skew})); err != nil {
		panic(err)
	}
	isSetUp.Store(true)
	host.start(ctx)
	host.running.Go(func() { w.watchGate(ctx, number, store) })
	if w.alive.Add(1) > 1 {
		w.see(TwoAtOnce)
	}
	kill := func() {
		w.alive.Add(-1)
		close(wire.dead)
		cancel()
		host.running.Wait()
	}
	w.running.Go(func() {
		defer kill()
		if p.For == 0 {
			<-w.over
			return
		}
		select {
		case <-time.After(p.For + time.Nanosecond): // not at the very moment of something else
			w.tell("process %d is killed", number)
		case <-w.over:
		}
	})
}

// options are the real ones, with one request at a time and small pages so that few objects make a long walk.
func (m Migrator) options(store *migration.StateStore, c offClock) migration.Options {
	return migration.Options{
		Settle: m.Settle, MaxInFlight: 1, PageSize: 2, StateStore: store, Clock: c,
		Recorder: &events.FakeRecorder{}, Registerer: prometheus.NewRegistry(),
	}
}

// host is as much of a manager as SetupWithManager needs.
type host struct {
	manager.Manager // nil: nothing else is asked for

	config    *rest.Config
	client    *http.Client
	runnables []manager.Runnable
	running   sync.WaitGroup
}

func newHost(wire http.RoundTripper) *host {
	cfg := &rest.Config{Host: "http://model", Transport: wire, QPS: -1}
	return &host{config: cfg, client: &http.Client{Transport: wire}}
}

func (h *host) GetConfig() *rest.Config                 { return h.config }
func (h *host) GetHTTPClient() *http.Client             { return h.client }
func (h *host) GetLogger() logr.Logger                  { return logr.Discard() }
func (h *host) GetControllerOptions() config.Controller { return config.Controller{} }

// GetRESTMapper knows CRDs.
func (h *host) GetRESTMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	return mapper
}

// Add keeps a runnable until the start.
func (h *host) Add(r manager.Runnable) error {
	h.runnables = append(h.runnables, r)
	return nil
}

// start starts one runnable after the other has got as far as it can, so that it is always the same who waits for whom.
func (h *host) start(ctx context.Context) {
	for _, r := range h.runnables {
		h.running.Go(func() { _ = r.Start(ctx) }) // its error is that it was killed
		synctest.Wait()
	}
}

// startTime is how long a process takes to start. Its cache has synchronised after 100 or 200 ms, whichever goroutine was
// first, so until then its watch shows nothing new and nobody is told the time.
const startTime = time.Second

// offClock is a clock that is wrong, but runs as fast as others. It takes the random part out of a walk's pauses
// (controllers/rewrite/backoff.go) by rounding them up, so that a schedule always plays the same.
type offClock struct {
	clock.RealClock
	isSetUp *atomic.Bool // before, nothing of the process runs that could wait
	ready   time.Time
	offset  time.Duration
}

func (c offClock) Now() time.Time {
	if c.isSetUp.Load() {
		time.Sleep(time.Until(c.ready))
	}
	return c.RealClock.Now().Add(c.offset)
}

func (c offClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c offClock) After(d time.Duration) <-chan time.Time {
	for _, milliseconds := range []int{200, 400, 800, 1600, 3200, 10000} {
		if pause := time.Duration(milliseconds) * time.Millisecond; d <= pause {
			return c.RealClock.After(pause)
		}
	}
	return c.RealClock.After(d)
}
