package removal

import (
	"context"
	"slices"
	"time"

	"github.com/fluxcd/pkg/runtime/controller"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal/verdict"
)

// Reconciler answers one VersionRemoval at a time.
type Reconciler struct {
	opts    Options
	client  client.Client            // cached
	fresh   client.Reader            // VersionRemovals as they are: a status is written as its difference to what was read
	crds    client.Reader            // reads whole CRDs from the API server
	status  client.SubResourceWriter // of CRDs
	metrics controller.Metrics
	wishes  *wishes
	nudges  *nudger // nil if nobody is to be nudged
}

// Reconcile is the main path.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if req.Namespace == "" {
		return ctrl.Result{}, r.withdraw(ctx, req.Name)
	}
	if len(r.opts.Namespaces) > 0 && !slices.Contains(r.opts.Namespaces, req.Namespace) {
		return ctrl.Result{}, nil // another Moult's to answer, or nobody's
	}
	removal := &v1alpha1.VersionRemoval{}
	if err := r.fresh.Get(ctx, req.NamespacedName, removal); err != nil {
		if err := client.IgnoreNotFound(err); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.forget(ctx, req.NamespacedName)
	}
	started := r.opts.Clock.Now()
	crd, situation, err := r.observe(ctx, removal)
	if err != nil {
		return ctrl.Result{}, err
	}
	v := verdict.Judge(situation)
	if situation.Stands(v) {
		return ctrl.Result{RequeueAfter: time.Second}, nil // or sooner, when the migration looks
	}
	if err := r.approve(ctx, crd, req.NamespacedName, removal.Spec.Versions, v); err != nil {
		return ctrl.Result{}, err
	}
	opened, err := r.report(ctx, removal, situation, v)
	r.measure(ctx, removal, started)
	if err != nil {
		return ctrl.Result{}, err
	}
	if opened && r.nudges != nil {
		r.nudges.wake(ctx, removal)
	}
	return r.result(situation, v), nil
}

// result is the one place that says when to look again without being woken.
func (r *Reconciler) result(s verdict.Situation, v verdict.Verdict) ctrl.Result {
	if !v.Until.IsZero() {
		return ctrl.Result{RequeueAfter: max(v.Until.Sub(s.Now), 1)}
	}
	return ctrl.Result{RequeueAfter: r.opts.SurveyInterval}
}

// forget drops what a deleted VersionRemoval asked for.
func (r *Reconciler) forget(ctx context.Context, name types.NamespacedName) error {
	crd, known := r.wishes.forget(name)
	if !known {
		return nil
	}
	r.opts.Migration.Withdraw(crd, name)
	return r.disapprove(ctx, crd, name)
}
