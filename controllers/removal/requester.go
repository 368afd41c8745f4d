package removal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
)

const (
	// nudgePause is how long an object of a tool is left alone after it was made to reconcile.
	nudgePause = time.Minute
	// ownerWait is how long a Flux Kustomization may take to answer. While it
	// waits for its objects it looks every five seconds, or at once if Flux runs
	// with the feature gate CancelHealthCheckOnNewRevision.
	ownerWait = time.Minute
	// ownerPoll and slowestPoll are how often it is looked at until then, at first and later.
	ownerPoll   = 250 * time.Millisecond
	slowestPoll = 5 * time.Second
	// maxOpened is how many open gates may wait for their tools.
	maxOpened = 10_000
)

// requester makes the GitOps tool that applies a VersionRemoval reconcile when the
// gate has opened. All it may write are the annotations made for that. It works
// in the background: a gate is open whether or not anybody reconciles.
//
// A VersionRemoval may be a tenant's, and its labels with it, so they only name a
// candidate. The candidate is made to reconcile if its inventory, which the tool
// writes, has the VersionRemoval, and at most once in a nudgePause. One worker does
// it all, so that gates that open and close do not cost more requests at a time.
type requester struct {
	tools tools
	known client.Reader // VersionRemovals
	clock clock.PassiveClock
	queue workqueue.TypedRateLimitingInterface[ctrl.Request] // namespaces take turns

	mu     sync.Mutex
	opened map[ctrl.Request]time.Time // gates whose tools have not been asked since
	asked  map[candidate]asking       // of the worker alone
}

// asking is the last request to an object of a tool.
type asking struct {
	at    time.Time
	token string       // as a Kustomization repeats it in its answer; empty if it is not waited for
	by    ctrl.Request // the VersionRemoval that waits
}

func newRequester(of tools, known client.Reader, clk clock.PassiveClock) *requester {
	return &requester{
		tools: of, known: known, clock: clk,
		queue:  newQueue("moult-nudge", workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](ownerPoll, slowestPoll)),
		opened: map[ctrl.Request]time.Time{}, asked: map[candidate]asking{},
	}
}

// wake asks for a request.
func (r *requester) wake(ctx context.Context, removal *v1alpha1.VersionRemoval) {
	req := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(removal)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, waits := r.opened[req]; !waits && len(r.opened) >= maxOpened {
		ctrl.LoggerFrom(ctx).Info("too many gates open at once; no tool was asked to reconcile", "removal", req)
		return
	}
	r.opened[req] = r.clock.Now()
	r.queue.Add(req)
}

// Start makes requests until ctx ends.
func (r *requester) Start(ctx context.Context) error {
	defer context.AfterFunc(ctx, r.queue.ShutDown)()
	r.tools.see(ctx)
	for {
		req, ended := r.queue.Get()
		if ended {
			return nil
		}
		if err := r.handle(ctx, req); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "asking what applies a VersionRemoval to reconcile", "removal", req)
		}
		r.queue.Done(req)
	}
}

// handle takes a gate one step further, and sees to it that the next one follows.
func (r *requester) handle(ctx context.Context, req ctrl.Request) error {
	opened := r.openedAt(req)
	step, err := r.step(ctx, req, opened)
	switch {
	case err == nil && step.poll:
		r.queue.AddRateLimited(req)
		return nil
	case err == nil && step.after > 0:
		r.queue.AddAfter(req, step.after)
	default:
		r.done(req, opened)
	}
	r.queue.Forget(req)
	return err
}

// step is what follows for a gate; the zero value is nothing.
type step struct {
	after time.Duration // look again then
	poll  bool          // look again soon
}

func (r *requester) step(ctx context.Context, req ctrl.Request, opened time.Time) (step, error) {
	to, err := r.applying(ctx, req)
	if err != nil || to == nil {
		return step{}, err
	}
	now, last := r.clock.Now(), r.asked[to.candidate]
	switch {
	case last.token != "" && last.by == req && to.answered != last.token && now.Sub(last.at) < ownerWait:
		return step{poll: true}, nil
	case last.token != "" && last.by == req:
		r.asked[to.candidate] = asking{at: last.at}
		if err := r.askDependents(ctx, to.candidate); err != nil || last.at.After(opened) {
			return step{}, err
		}
		return step{after: 1}, nil // it has opened once more since
	case last.at.After(opened):
		return step{}, nil
	case now.Sub(last.at) < nudgePause:
		return step{after: nudgePause - now.Sub(last.at)}, nil
	default:
		return r.ask(ctx, to.candidate, req)
	}
}

// applying reads the object of a tool that applies a VersionRemoval; nil if there is none.
func (r *requester) applying(ctx context.Context, req ctrl.Request) (*object, error) {
	removal := &v1alpha1.VersionRemoval{}
	if err := r.known.Get(ctx, req.NamespacedName, removal); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	name, named := candidateOf(removal)
	if !named {
		return nil, nil
	}
	found, err := r.tools.get(ctx, name, req.NamespacedName)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil || !found.applies:
		return nil, err
	}
	return found, nil
}

// ask makes an object of a tool reconcile. A Kustomization is waited for, since its
// dependents look only at what it has become.
func (r *requester) ask(ctx context.Context, to candidate, by ctrl.Request) (step, error) {
	now := r.clock.Now()
	token := now.UTC().Format(time.RFC3339Nano)
	r.forgetOld(now)
	request, key, value, next := asking{at: now, token: token, by: by}, meta.ReconcileRequestAnnotation, token, step{poll: true}
	if to.kind == application {
		request, key, value, next = asking{at: now}, argoRefresh, "normal", step{}
	}
	err := r.tools.annotate(ctx, to, key, value)
	if settling := (*rewrite.Settling)(nil); errors.As(err, &settling) {
		return step{after: settling.For}, nil
	}
	if r.asked[to] = request; err != nil {
		return step{}, err
	}
	return next, nil
}

// askDependents makes the Kustomizations that depend on one reconcile, which nothing
// else wakes. One that was asked a moment ago looks again by itself: Flux repeats what
// waits for a dependency.
func (r *requester) askDependents(ctx context.Context, owner candidate) error {
	dependents, err := r.tools.dependents(ctx, owner)
	if err != nil {
		return err
	}
	for _, to := range dependents {
		now := r.clock.Now()
		if now.Sub(r.asked[to].at) < nudgePause {
			continue
		}
		r.forgetOld(now)
		r.asked[to] = asking{at: now}
		if err := r.tools.annotate(ctx, to, meta.ReconcileRequestAnnotation, now.UTC().Format(time.RFC3339Nano)); err != nil {
			return err
		}
	}
	return nil
}

// forgetOld drops requests that hold nothing back any more.
func (r *requester) forgetOld(now time.Time) {
	for to, last := range r.asked {
		if now.Sub(last.at) > nudgePause+ownerWait {
			delete(r.asked, to)
		}
	}
}

func (r *requester) openedAt(req ctrl.Request) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opened[req]
}

// done forgets a gate, unless it has opened once more since.
func (r *requester) done(req ctrl.Request, opened time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened[req].Equal(opened) {
		delete(r.opened, req)
	}
}
