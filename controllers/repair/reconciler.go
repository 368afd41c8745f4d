package repair

import (
	"context"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reconciler repairs one kind of what outlives versions. It has one worker, so nothing here needs a lock but the end.
type Reconciler struct {
	opts Options
	crds lister // opted-in CRDs, without their schemas
	kind kind

	events  *inEvents
	metrics *repairMetrics

	looks map[string]look // the last one for each CRD that is looked after
	work  *work           // the repair under way, nil if there is none

	base  context.Context // of all repairs
	stop  context.CancelFunc
	mu    sync.Mutex // no repair starts once the manager waits for those under way
	works sync.WaitGroup
	ended chan struct{} // a repair has
}

// lister lists CRDs.
type lister interface {
	List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error
}

func newReconciler(opts Options, crds lister, kind kind, events *inEvents, metrics *repairMetrics) *Reconciler {
	r := &Reconciler{opts: opts, crds: crds, kind: kind, events: events, metrics: metrics, looks: map[string]look{}, ended: make(chan struct{}, 1)}
	r.base, r.stop = context.WithCancel(context.Background())
	return r
}

// stopWithManager ends the repair when the manager stops or loses its lease, and waits for it.
func (r *Reconciler) stopWithManager(ctx context.Context) error {
	<-ctx.Done()
	r.mu.Lock()
	r.stop()
	r.mu.Unlock()
	r.works.Wait()
	return nil
}

// Reconcile is the main path.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	r.collect(ctx)
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := r.crds.List(ctx, crds, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	subjects := r.observe(crds.Items)
	r.forget(subjects)
	now := r.opts.Clock.Now()
	d := decide(now, r.opts.Interval, subjects, r.looks, r.work.subjectsOf())
	switch {
	case d.stop:
		r.work.cancel() // and it wakes us
	case len(d.start) > 0:
		r.start(d.start)
	case !d.until.IsZero():
		return ctrl.Result{RequeueAfter: max(d.until.Sub(now), time.Millisecond)}, nil
	}
	return ctrl.Result{}, nil
}

// collect reports what a repair that has ended has found.
func (r *Reconciler) collect(ctx context.Context) {
	if r.work == nil || !r.work.over() {
		return
	}
	ended := r.work
	r.work = nil
	for _, s := range ended.subjects {
		found := ended.found[s.name()]
		if !found.stopped() {
			r.looks[s.name()] = r.looks[s.name()].after(s, found.outcome(), r.opts.Clock.Now())
		}
		r.report(ctx, s, found)
	}
}

// forget drops what is known about CRDs that are not looked after any more.
func (r *Reconciler) forget(subjects []subject) {
	still := map[string]bool{}
	for _, s := range subjects {
		still[s.name()] = true
	}
	for name := range r.looks {
		if !still[name] {
			delete(r.looks, name)
			r.metrics.forget(name)
		}
	}
}
