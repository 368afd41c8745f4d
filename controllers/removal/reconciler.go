package removal

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/verdict"
)

// Reconciler answers one VersionRemoval at a time.
type Reconciler struct {
	opts    Options
	client  client.Client // cached
	fresh   client.Reader // VersionRemovals as they are: a status is written as its difference to what was read
	crds    *crdReader
	status  client.SubResourceWriter // of CRDs
	metrics *series
	states  *stateStore

	approving sync.Map   // the CRDs whose VersionsRemovable is being written
	requester *requester // nil if none is to be asked
	looks     *looks     // nil if what else names the versions is not looked for
}

// refusedRetry is when a write that was refused is tried again.
const refusedRetry = time.Minute

// Reconcile answers, and notes if it cannot.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	if err != nil {
		r.states.failed(req.NamespacedName)
	}
	return result, err
}

// reconcile is the main path.
func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if req.Namespace == "" {
		return ifBusy(r.syncApproval(ctx, req.Name))
	}
	if !r.answersIn(req.Namespace) {
		return ctrl.Result{}, nil // another Moult's to answer, or no one's
	}
	started := r.opts.Clock.Now()
	e, err := r.evaluate(ctx, req.NamespacedName, r.client, r.crds.Get)
	if err == nil && e.isNews() && !e.situation.StillHolds(e.verdict) {
		e, err = r.evaluate(ctx, req.NamespacedName, r.fresh, r.crds.GetNow)
	}
	switch {
	case rewrite.IsGone(err, v1alpha1.GroupVersion.Group, req.Name):
		r.forget(req.NamespacedName)
		r.metrics.drop(ctx, req.NamespacedName)
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, err
	case e.situation.StillHolds(e.verdict):
		return ctrl.Result{RequeueAfter: time.Second}, nil // or sooner, when the migration looks
	}
	if err := r.mayOpen(ctx, e); err != nil {
		return ctrl.Result{}, err
	}
	if conditions.IsReady(e.before) && e.verdict.State != verdict.Ready { // a gate closes first, however long the CRD's condition takes
		if _, err := r.report(ctx, e); err != nil {
			return again(errors.Join(err, r.approve(ctx, e.crd, e.removal, e.verdict)))
		}
		e.before = e.removal.DeepCopy()
	}
	approved := r.approve(ctx, e.crd, e.removal, e.verdict)
	switch refused := rewrite.IsDenied(approved) || apierrors.IsForbidden(approved); {
	case refused:
		r.states.failed(req.NamespacedName)
		e.verdict = verdict.MayNotApprove(e.verdict, approved, e.situation.Now.Add(refusedRetry))
		e.removal = e.before.DeepCopy()
		fill(e.removal, e.situation, e.verdict)
		approved = nil
	case approved != nil && e.verdict.State == verdict.Ready:
		return ifBusy(approved) // a gate closes whatever the CRD says, and opens with it
	}
	if e.verdict.State == verdict.Ready && !conditions.IsReady(e.before) {
		if opens, err := r.stillOpens(ctx, req.NamespacedName, e); err != nil || !opens {
			return again(err)
		}
	}
	opened, err := r.report(ctx, e)
	r.metrics.record(ctx, e.removal, started)
	if err == nil && approved != nil {
		return ifBusy(approved)
	}
	if err != nil {
		return again(err)
	}
	if opened && r.requester != nil {
		r.requester.wake(ctx, e.removal)
	}
	return r.result(e.situation, e.verdict), nil
}

// stillOpens reports whether a gate opens once the condition of the CRD is written, which may have taken long. If it could not be answered before,
// another look comes first.
func (r *Reconciler) stillOpens(ctx context.Context, name types.NamespacedName, e evaluation) (bool, error) {
	if r.states.closesOnceFailed(e.before, r.opts.Clock.Now()) {
		return false, nil
	}
	now, err := r.evaluate(ctx, name, r.fresh, r.crds.GetNow)
	return err == nil && now.verdict.State == verdict.Ready, err
}

// ifBusy has what another worker is at tried again soon; any other error is one.
func ifBusy(err error) (ctrl.Result, error) {
	if errors.Is(err, errBusy) {
		return ctrl.Result{RequeueAfter: busyRetry}, nil
	}
	return ctrl.Result{}, err
}

// again has a VersionRemoval looked at anew in a second, as one is that somebody has written since it was looked at. Other errors are tried with
// growing pauses.
func again(err error) (ctrl.Result, error) {
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	return ctrl.Result{}, err
}

// mayOpen is an error if a gate is about to open by what may be from before a restore of etcd. One that is open, by
// this process, was asked about then.
func (r *Reconciler) mayOpen(ctx context.Context, e evaluation) error {
	if r.opts.Timeline == nil || e.verdict.State != verdict.Ready || !e.isNews() && r.states.answerTo(e.before) != nil {
		return nil
	}
	return r.opts.Timeline.Check(ctx)
}

// evaluation is one VersionRemoval as it was found, and the answer to it.
type evaluation struct {
	before, removal *v1alpha1.VersionRemoval // as found, and with the answer in its status
	crd             *apiextensionsv1.CustomResourceDefinition
	situation       verdict.Situation
	verdict         verdict.Verdict
}

// evaluate observes and decides. What it gets first comes from caches, since most evaluations find nothing new; an
// answer is written only after one of what is there now. The error is NotFound if the VersionRemoval no longer exists.
func (r *Reconciler) evaluate(ctx context.Context, name types.NamespacedName, from client.Reader, read readsCRD) (e evaluation, err error) {
	e.before = &v1alpha1.VersionRemoval{}
	if err := from.Get(ctx, name, e.before); err != nil {
		return e, err
	}
	slimMetadata(e.before)
	if e.crd, e.situation, err = r.observe(ctx, e.before, from, read); err != nil {
		return e, err
	}
	e.verdict = verdict.Judge(e.situation)
	if e.verdict.Closes {
		r.states.closed(e.before, e.situation.Now)
	}
	if e.crd != nil {
		r.ask(e.crd, e.before, e.situation, e.verdict)
	}
	e.removal = e.before.DeepCopy()
	fill(e.removal, e.situation, e.verdict)
	return e, nil
}

// unwoken is how long a gate may stay as it is by watches alone: one may be there and deliver nothing.
const unwoken = time.Minute

// result is the one place that says when to look again without being woken.
func (r *Reconciler) result(s verdict.Situation, v verdict.Verdict) ctrl.Result {
	if !v.Until.IsZero() {
		return ctrl.Result{RequeueAfter: max(v.Until.Sub(s.Now), 1)}
	}
	return ctrl.Result{RequeueAfter: min(r.opts.SurveyInterval, unwoken)}
}

// forget drops what a deleted VersionRemoval asked for.
func (r *Reconciler) forget(name types.NamespacedName) {
	crd, _ := r.states.forget(name)
	r.withdraw(crd, name)
}

// withdraw takes back what a VersionRemoval asked for.
func (r *Reconciler) withdraw(crd string, name types.NamespacedName) {
	r.opts.Migration.Withdraw(crd, name)
	if r.looks != nil {
		r.looks.withdraw(name)
	}
}

// answersIn reports whether the VersionRemovals of a namespace are ours to answer.
func (r *Reconciler) answersIn(namespace string) bool {
	return len(r.opts.Namespaces) == 0 || slices.Contains(r.opts.Namespaces, namespace)
}
