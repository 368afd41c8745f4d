package migration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/policies/plan"
)

// Reconciler brings one CRD at a time a step closer to being migrated.
type Reconciler struct {
	opts    Options
	cached  getter // opted-in CRDs, perhaps without their schemas
	live    liveCRDs
	objects *rewrite.Client
	pace    *throttle.Pace
	states  *StateStore
	walks   *walks
	metrics *recorder
}

// getter reads CRDs.
type getter interface {
	Get(ctx context.Context, key types.NamespacedName, obj client.Object, opts ...client.GetOption) error
}

// liveCRDs reads any CRD from the API server, and writes its status.
type liveCRDs interface {
	getter
	Status() client.SubResourceWriter
}

func newReconciler(cfg *rest.Config, httpClient *http.Client, cached getter, live liveCRDs, opts Options) (*Reconciler, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("migration: option %w", err)
	}
	opts = opts.withDefaults()
	objects, err := rewrite.NewClient(cfg, httpClient)
	if err != nil {
		return nil, err
	}
	metrics, err := newRecorder(opts.Registerer, opts.Pace.Limit)
	if err != nil {
		return nil, err
	}
	r := &Reconciler{
		opts: opts, cached: cached, live: live, objects: objects, metrics: metrics,
		pace: opts.Pace, states: opts.StateStore,
	}
	r.walks = newWalks(r, opts.Clock, opts.MaxWalks)
	return r, nil
}

// Reconcile is the main path.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	_, d, err := r.step(ctx, req.Name)
	return r.result(d, err)
}

// step observes, decides, acts and reports, once.
func (r *Reconciler) step(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, plan.Decision, error) {
	crd, o, err := r.observe(ctx, name)
	if err != nil {
		return nil, plan.Decision{}, err
	}
	d := plan.Decide(o)
	if failure, err := r.act(ctx, name, crd, o, d); err != nil {
		return crd, d, err
	} else if failure != nil {
		o.Evidence = r.noteFailure(name, o, *failure)
		d = plan.Decide(o)
	}
	if again := o.Now.Add(progressInterval); r.states.isEcho(name, d.Reason, o.Now) && (d.Until.IsZero() || again.Before(d.Until)) {
		d.Until = again // to see whether it still holds
	}
	return crd, d, r.report(ctx, crd, o, d)
}

// noteFailure notes a failure that a walk did not bring.
func (r *Reconciler) noteFailure(name string, o plan.Observation, t plan.Failure) plan.Evidence {
	return r.states.update(name, o.Subject, func(known *state) { known.evidence = known.evidence.Failed(t, o.Now) })
}

// staleRetry gives the cache a moment to learn what the API server knows.
const staleRetry = 200 * time.Millisecond

// result is the one place that maps decisions and errors to what the work queue
// does next.
func (r *Reconciler) result(d plan.Decision, err error) (ctrl.Result, error) {
	switch {
	case apierrors.IsConflict(err), errors.Is(err, errBehind):
		return ctrl.Result{RequeueAfter: staleRetry}, nil // what was observed is no longer true
	case err != nil:
		return ctrl.Result{}, err
	case !d.Until.IsZero():
		return ctrl.Result{RequeueAfter: max(d.Until.Sub(r.opts.Clock.Now()), 1)}, nil
	case d.Step == plan.Follow, d.Step == plan.Rewrite, d.Step == plan.Check, d.Step == plan.Survey:
		return ctrl.Result{RequeueAfter: progressInterval}, nil
	default:
		return ctrl.Result{}, nil
	}
}
