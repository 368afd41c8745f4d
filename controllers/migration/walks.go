package migration

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/plan"
)

// walks are the walks under way, at most one per CRD, in the background.
type walks struct {
	walker walker
	clock  clock.Clock
	slots  *semaphore.Weighted // walks at a time
	woken  chan string         // names of CRDs whose walk has ended

	root      context.Context // ends with the process
	cancelAll context.CancelFunc

	mu       sync.Mutex
	running  map[string]*walking
	patience map[string]time.Duration // with those that have given way, by CRD
	wg       sync.WaitGroup
}

// walker walks over the objects of a CRD.
type walker interface {
	// makeRoom waits until there is memory for what carryOut holds from its beginning to its end. The error is the context's.
	makeRoom(ctx context.Context, w *walking) (leave func(), err error)
	// inTheWay reports whether a walk that a tenant can hold up keeps memory that another one waits for.
	inTheWay(w *walking) bool
	// carryOut does it. The error is the context's.
	carryOut(ctx context.Context, w *walking) (plan.Outcome, rewrite.Result, error)
	// ended takes in what was found by a walk that was not stopped.
	ended(w *walking, outcome plan.Outcome, result rewrite.Result)
	// cut takes in what one that was has found or done, and no later one sees.
	cut(w *walking, result rewrite.Result)
}

// walking is one walk over all objects of a CRD.
type walking struct {
	crd      *apiextensionsv1.CustomResourceDefinition
	observed plan.Observation
	mode     plan.Mode
	walk     *rewrite.Walk
	started  time.Time
	cancel   context.CancelFunc
}

func newWalks(walker walker, c clock.Clock, atATime int) *walks {
	root, cancel := context.WithCancel(context.Background())
	return &walks{
		walker: walker, clock: c, slots: semaphore.NewWeighted(int64(atATime)),
		woken: make(chan string, 1024), running: map[string]*walking{}, patience: map[string]time.Duration{},
		root: root, cancelAll: cancel,
	}
}

// start carries a walk out in the background, and wakes its CRD when it has ended.
func (w *walks) start(run *walking) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.root.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(w.root)
	run.cancel, run.started = cancel, w.clock.Now()
	w.running[run.crd.Name] = run
	w.wg.Go(func() {
		defer cancel()
		w.run(ctx, run)
	})
}

func (w *walks) run(ctx context.Context, run *walking) {
	leave, err := w.walker.makeRoom(ctx, run) // before the slot: a walk that has yielded its slot keeps its room, and needs a slot to end
	if err != nil {
		return
	}
	if w.slots.Acquire(ctx, 1) != nil {
		leave()
		return
	}
	limited, cancel := w.givingWay(ctx, run)
	defer cancel()
	outcome, result, err := w.walker.carryOut(limited, run)
	w.slots.Release(1)
	leave()
	gaveWay := limited.Err() != nil
	isStopped := err != nil && !gaveWay || ctx.Err() != nil || !w.isRunning(run)
	if isStopped || gaveWay {
		w.walker.cut(run, result)
	} else {
		w.walker.ended(run, outcome, result) // before the walk is off the list, or a second one might be started
	}
	if isStopped {
		return
	}
	w.end(run, gaveWay)
	select {
	case w.woken <- run.crd.Name:
	case <-ctx.Done():
	}
}

// yieldSlot lets the walks that wait for a slot have this one's first. It ends with a
// slot whatever happens, since the walk gives one back at its end.
func (w *walks) yieldSlot(ctx context.Context) error {
	w.slots.Release(1)
	return w.slots.Acquire(context.WithoutCancel(ctx), 1)
}

func (w *walks) isRunning(run *walking) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running[run.crd.Name] == run
}

// stop ends the walk of a CRD, if there is one, and forgets its outcome. Its last requests may be under way for a while.
func (w *walks) stop(crd string) (stopped *walking) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if stopped = w.running[crd]; stopped != nil {
		stopped.cancel()
		delete(w.running, crd)
	}
	delete(w.patience, crd)
	return stopped
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
func (w *walks) state(crd string) *plan.Walking {
	w.mu.Lock()
	run, ok := w.running[crd]
	w.mu.Unlock()
	if !ok {
		return nil
	}
	counts, looking := progressOf(run.walk)
	if s := w.clock.Since(run.started).Seconds(); s > 0 {
		counts.Rate = float64(counts.Done()) / s
	}
	return &plan.Walking{Subject: run.observed.Subject, Mode: run.mode, Counts: counts, Looking: looking, MayLose: run.observed.MayLose, MayDrop: run.observed.MayDrop}
}

// progressOf are the counts of a walk, or of the look before it as long as it has not begun.
func progressOf(walk *rewrite.Walk) (counts plan.Counts, looking bool) {
	counts = countsOf(walk.Result())
	if done, total := walk.Look.Counts(); counts.Total == 0 && total > 0 {
		return plan.Counts{Total: total, Current: done}, true
	}
	return counts, false
}

// startWalk walks over all objects in the background.
func (r *Reconciler) startWalk(crd *apiextensionsv1.CustomResourceDefinition, o plan.Observation, mode plan.Mode) {
	walk := r.newWalk(crd, o, mode)
	walk.Asked = sets.New(r.states.Asked(crd.Name)...)
	walk.LookedThrough = r.states.lookedThrough(crd.Name, crd.UID)
	walk.YieldSlot = r.walks.yieldSlot
	walk.Moves = r.states.found(crd.Name).moved
	r.walks.start(&walking{crd: crd, observed: o, mode: mode, walk: walk})
}

func (r *Reconciler) carryOut(ctx context.Context, w *walking) (plan.Outcome, rewrite.Result, error) {
	started := r.opts.Clock.Now()
	w.walk.Ownership.Late = map[string]rewrite.Span{}
	for version, quiet := range w.observed.Removal.Quiet {
		w.walk.Ownership.Late[version] = rewrite.Around(started, quiet)
	}
	result, err := r.walk(ctx, w.crd, w.walk)
	if ctx.Err() != nil {
		return plan.Outcome{}, result, ctx.Err()
	}
	outcome := outcomeOf(w, started, result, err)
	if outcome.Altered = r.alteredBy(ctx, w.crd, result); w.mode == plan.Rewriting {
		r.tellOfAlteration(ctx, w.crd, result)
	}
	return outcome, result, nil
}

func (r *Reconciler) ended(w *walking, outcome plan.Outcome, result rewrite.Result) {
	now := r.opts.Clock.Now()
	r.metrics.walked(w.crd.Name, w.mode, result, now.Sub(outcome.Started))
	r.tellOfOwnership(w.crd, outcome, lossesOf(result))
	r.tellOfFields(w.crd, w.observed.StorageVersion, result.Dropped())
	r.states.update(w.crd.Name, w.observed.Subject, func(known *state) {
		known.findings = known.findings.after(outcome, result, w.walk.Moved())
		known.evidence = known.evidence.After(outcome, now, r.opts.Settle)
	})
}

// walk carries a walk out. Objects that the API server cannot read have failed, too.
func (r *Reconciler) walk(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, walk *rewrite.Walk) (rewrite.Result, error) {
	result, err := r.pass(ctx, crd, walk)
	return result.With(rewrite.Unreadable(err, resourceOf(crd))), err
}

// pass carries a walk out, once it is known that it can work at all. What it has
// seen counts only if it was the API server itself that answered.
func (r *Reconciler) pass(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, walk *rewrite.Walk) (rewrite.Result, error) {
	storageVersion := walk.Ownership.StorageVersion
	route, err := r.settledRoutes(ctx, crd, storageVersion)
	if err != nil {
		return rewrite.Result{}, err
	}
	if err := r.probe(ctx, crd, storageVersion); err != nil {
		return rewrite.Result{}, err
	}
	losses, err := r.guard(ctx, crd, walk)
	if err != nil {
		return rewrite.Result{Fields: losses}, err
	}
	walk.Admission = r.admission(ctx, crd, storageVersion)
	result, err := walk.Run(ctx)
	result.Fields = losses
	if err != nil {
		return result, err
	}
	if err := r.stillOn(ctx, route, crd, storageVersion); err != nil {
		return rewrite.Result{Writers: result.Writers, LastWrites: result.LastWrites, Losses: result.Losses}, err
	}
	return result, nil
}

// probe finds out whether a CRD with a conversion webhook can be converted.
func (r *Reconciler) probe(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, storageVersion string) error {
	if !crds.HasWebhook(crd) {
		return nil
	}
	return r.objects.Probe(ctx, resourceOf(crd), append([]string{storageVersion}, crds.ServedBeside(crd, storageVersion)...))
}

func (r *Reconciler) newWalk(crd *apiextensionsv1.CustomResourceDefinition, o plan.Observation, mode plan.Mode) *rewrite.Walk {
	gvr := resourceOf(crd).WithVersion(o.StorageVersion)
	walk := &rewrite.Walk{
		Objects: r.objects.Resource(gvr),
		Scope:   crd.Spec.Scope,
		Mode:    modes[mode], ProvedAfter: o.Evidence.WindowEndRV,
		Ownership: rewrite.Ownership{
			Group: crd.Spec.Group, StorageVersion: o.StorageVersion, Versions: crds.Versions(crd), Leaving: listed(crd, o.Removal.Versions),
			MayLose: o.MayLose,
		},
		Schema: func(ctx context.Context) (*apiextensionsv1.JSONSchemaProps, error) {
			return r.schema(ctx, crd.Name, o.StorageVersion)
		},
		Converts: crds.HasWebhook(crd),
		Follower: func(ctx context.Context) (rewrite.Follower, error) {
			return r.follower(ctx, crd.Name, o.StorageVersion, listed(crd, o.Removal.Versions))
		},
		Unchanged: func(ctx context.Context) error { return r.unchanged(ctx, crd) },
		Workers:   r.opts.MaxInFlight, PageSize: r.opts.PageSize, Lane: r.pace.Lane(), Clock: r.opts.Clock, Room: r.opts.Room,
	}
	for _, version := range crds.ServedBeside(crd, o.StorageVersion) {
		walk.Otherwise = append(walk.Otherwise, r.objects.Resource(resourceOf(crd).WithVersion(version)))
	}
	if sub, err := apihelpers.GetSubresourcesForVersion(crd, o.StorageVersion); err == nil && sub != nil && sub.Status != nil {
		walk.Status = r.objects.Status(gvr)
	}
	return walk
}

// listed are those of some versions that the CRD has. Tenants may ask for any number of others.
func listed(crd *apiextensionsv1.CustomResourceDefinition, versions []string) []string {
	return slices.DeleteFunc(crds.Versions(crd), func(v string) bool { return !slices.Contains(versions, v) })
}

var modes = map[plan.Mode]rewrite.Mode{
	plan.Rewriting: rewrite.Rewrite, plan.Checking: rewrite.Check, plan.Surveying: rewrite.Survey,
}

// schema reads from the API server by what it prunes a version's objects, since the cache holds no schemas. It is nil if nothing is
// pruned, or the version has left the CRD.
func (r *Reconciler) schema(ctx context.Context, name, version string) (schema *apiextensionsv1.JSONSchemaProps, err error) {
	err = r.whole(ctx, name, func(crd *apiextensionsv1.CustomResourceDefinition) error {
		schema = rewrite.PrunedBy(crd, version)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", name, err)
	}
	return schema, nil
}

// schemaAt is the schema of a version as it was read; nil if it has none.
func schemaAt(crd *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.JSONSchemaProps {
	if validation, err := apihelpers.GetSchemaForVersion(crd, version); err == nil && validation != nil {
		return validation.OpenAPIV3Schema
	}
	return nil
}

func resourceOf(crd *apiextensionsv1.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
}
