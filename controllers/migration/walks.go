package migration

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/controllers/plan"
	"github.com/moult-dev/moult/controllers/rewrite"
)

// walks are the walks under way, at most one per CRD, in the background.
type walks struct {
	clock clock.Clock
	slots *semaphore.Weighted // walks at a time
	woken chan string         // names of CRDs whose walk has ended

	root      context.Context // ends with the process
	cancelAll context.CancelFunc

	mu      sync.Mutex
	running map[string]*walking
	wg      sync.WaitGroup
}

type walking struct {
	subject plan.Subject
	mode    plan.Mode
	walk    *rewrite.Walk
	started time.Time
	cancel  context.CancelFunc
}

func newWalks(c clock.Clock, atATime int) *walks {
	root, cancel := context.WithCancel(context.Background())
	return &walks{
		clock: c, slots: semaphore.NewWeighted(int64(atATime)),
		woken: make(chan string, 1024), running: map[string]*walking{},
		root: root, cancelAll: cancel,
	}
}

// start runs job in the background as the walk of a CRD. It hands the outcome
// to done, unless the walk was stopped meanwhile, and then wakes the CRD.
func (w *walks) start(name string, run *walking, job func(context.Context) (plan.Outcome, error), done func(plan.Outcome)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.root.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(w.root)
	run.cancel, run.started = cancel, w.clock.Now()
	w.running[name] = run
	w.wg.Go(func() {
		defer cancel()
		if w.slots.Acquire(ctx, 1) != nil {
			return
		}
		outcome, err := job(ctx)
		w.slots.Release(1)
		if err != nil || !w.isRunning(name, run) {
			return
		}
		done(outcome) // before the walk is off the list, or a second one might be started
		w.end(name, run)
		select {
		case w.woken <- name:
		case <-ctx.Done():
		}
	})
}

// turn lets the walks that wait for a slot have this one's first. It ends with a
// slot whatever happens, since the walk gives one back at its end.
func (w *walks) turn(ctx context.Context) error {
	w.slots.Release(1)
	return w.slots.Acquire(context.WithoutCancel(ctx), 1)
}

func (w *walks) isRunning(name string, run *walking) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running[name] == run
}

// end takes a walk off the list.
func (w *walks) end(name string, run *walking) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[name] == run {
		delete(w.running, name)
	}
}

// stop ends the walk of a CRD, if there is one, and forgets its outcome.
func (w *walks) stop(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if run, ok := w.running[name]; ok {
		run.cancel()
		delete(w.running, name)
	}
}

// stopAll ends every walk and waits until their last request has returned.
func (w *walks) stopAll() {
	w.mu.Lock()
	w.cancelAll()
	clear(w.running)
	w.mu.Unlock()
	w.wg.Wait()
}

// state is what the plan wants to know about a CRD's walk; nil if there is none.
func (w *walks) state(name string) *plan.Walking {
	w.mu.Lock()
	run, ok := w.running[name]
	w.mu.Unlock()
	if !ok {
		return nil
	}
	counts := countsOf(run.walk.Result())
	if s := w.clock.Since(run.started).Seconds(); s > 0 {
		counts.Rate = float64(counts.Done()) / s
	}
	return &plan.Walking{Subject: run.subject, Mode: run.mode, Counts: counts}
}

func countsOf(t rewrite.Result) plan.Counts {
	return plan.Counts{
		Total:     t.Total,
		Rewritten: t.By[rewrite.Rewritten],
		Current:   t.By[rewrite.Current] + t.By[rewrite.Overtaken] + t.By[rewrite.Altered] + t.By[rewrite.Repaired],
		Gone:      t.By[rewrite.Gone],
		Failed:    t.By[rewrite.Failed],
	}
}
