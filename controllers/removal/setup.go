package removal

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/metrics"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
)

const (
	controllerName = "moult-removal"
	crdNameIndex   = "spec.crdName"
)

// SetupWithManager adds the removal reconciler to a manager whose scheme knows
// this project's types. The manager's identity needs get, list and watch on
// versionremovals and customresourcedefinitions, patch on versionremovals/status
// and customresourcedefinitions/status, and create and patch on events.
func SetupWithManager(ctx context.Context, mgr manager.Manager, opts Options) error {
	opts = opts.withDefaults()
	if opts.Recorder == nil {
		opts.Recorder = plainRecorder{setup.Recorder(mgr, controllerName)}
	}
	known, err := newCache(mgr)
	if err != nil {
		return fmt.Errorf("cache of VersionRemovals and CRDs: %w", err)
	}
	whole, err := setup.Client(mgr, nil, v1alpha1.AddToScheme)
	if err != nil {
		return fmt.Errorf("client for VersionRemovals and CRDs: %w", err)
	}
	cached, err := setup.Client(mgr, known, v1alpha1.AddToScheme)
	if err != nil {
		return fmt.Errorf("client for the cache of VersionRemovals and CRDs: %w", err)
	}
	measured, err := newSeries(controller.NewMetrics(mgr, recorder()), ctrlmetrics.Registry)
	if err != nil {
		return err
	}
	r := &Reconciler{
		opts: opts, client: cached, fresh: whole, crds: newCRDReader(whole, opts.Clock, opts.LabelKey), status: whole.Status(),
		states: newStateStore(), metrics: measured,
	}
	if opts.RequestReconcile {
		objects, err := rewrite.NewClient(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return fmt.Errorf("client for Kustomizations and Applications: %w", err)
		}
		r.requester = newRequester(tools{whole, oneOf(objects), eachOf(objects, opts.Clock), opts.Losses}, cached, opts.Clock)
		if err := mgr.Add(r.requester); err != nil {
			return err
		}
	}
	if opts.References != nil {
		r.looks = newLooks(opts.References, opts.SurveyInterval, opts.Clock)
		if err := mgr.Add(r.looks); err != nil {
			return err
		}
	}
	if err := known.IndexField(ctx, &v1alpha1.VersionRemoval{}, crdNameIndex, crdNameOf); err != nil {
		return fmt.Errorf("index of VersionRemovals: %w", err)
	}
	if err := mgr.Add(known); err != nil {
		return err
	}
	return r.watch(mgr, known)
}

// oneOf and eachOf read from the API server.
func oneOf(objects *rewrite.Client) oneObject {
	return func(ctx context.Context, of schema.GroupVersionResource, name types.NamespacedName, take func(content)) error {
		return objects.TakeWhole(ctx, of, name, func(raw []byte) error {
			read := content{}
			if err := json.Unmarshal(raw, &read); err != nil {
				return err
			}
			take(read)
			return nil
		})
	}
}

func eachOf(objects *rewrite.Client, clk clock.Clock) eachObject {
	return func(ctx context.Context, of schema.GroupVersionResource, again func(), take func([]map[string]any) error) error {
		_, err := objects.EachWhole(ctx, of, clk, again, func(page []map[string]any, _ int64) error { return take(page) })
		return err
	}
}

func crdNameOf(o client.Object) []string {
	if removal, ok := o.(*v1alpha1.VersionRemoval); ok {
		return []string{removal.Spec.CRDName}
	}
	return nil
}

// watch wakes the reconciler for a VersionRemoval that changes, for a CRD that
// changes, labelled or not, and for a migration that gets further.
func (r *Reconciler) watch(mgr manager.Manager, known cache.Cache) error {
	crd := setup.MetadataOf("") // a CRD without the label must wake its VersionRemovals, too
	sources := []source.Source{source.Kind(known, &v1alpha1.VersionRemoval{}, answered()), source.Kind(known, crd, r.ofCRDs()), setup.Woken(r.opts.Migration.Changes(), r.waiting)}
	if r.looks != nil {
		sources = append(sources, setup.Woken(r.looks.ended, r.waiting))
	}
	return setup.Controller(mgr, controllerName, ctrlcontroller.Options{Reconciler: r, MaxConcurrentReconciles: 4, NewQueue: newQueue}, sources...)
}

// ofCRDs wakes the reconciler for all VersionRemovals of a CRD, and for the CRD if it may say what is safe to remove.
func (r *Reconciler) ofCRDs() handler.TypedEventHandler[*metav1.PartialObjectMetadata, ctrl.Request] {
	type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]
	wake := func(ctx context.Context, crd *metav1.PartialObjectMetadata, q queue) {
		requests := r.waiting(ctx, crd.Name)
		if len(requests) > 0 || mayBeApproved(crd) {
			requests = append(requests, aboutCRD(crd.Name))
		}
		for _, req := range requests {
			q.Add(req)
		}
	}
	return handler.TypedFuncs[*metav1.PartialObjectMetadata, ctrl.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*metav1.PartialObjectMetadata], q queue) {
			r.crds.Changed(e.Object.Name)
			wake(ctx, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*metav1.PartialObjectMetadata], q queue) {
			r.crds.Changed(e.ObjectNew.Name)
			wake(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*metav1.PartialObjectMetadata], q queue) {
			r.crds.Gone(e.Object, !e.DeleteStateUnknown && len(r.waiting(ctx, e.Object.Name)) > 0)
			wake(ctx, e.Object, q)
		},
	}
}

// answered wakes the reconciler for a VersionRemoval that changes. It wakes it for the CRD, too, when what is asked of
// that changes: when the VersionRemoval comes or goes or asks for something else.
func answered() handler.TypedEventHandler[*v1alpha1.VersionRemoval, ctrl.Request] {
	type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]
	add := func(q queue, removal *v1alpha1.VersionRemoval, asksAnew bool) {
		q.Add(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(removal)})
		if asksAnew {
			q.Add(aboutCRD(removal.Spec.CRDName))
		}
	}
	return handler.TypedFuncs[*v1alpha1.VersionRemoval, ctrl.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1alpha1.VersionRemoval], q queue) {
			add(q, e.Object, true)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1alpha1.VersionRemoval], q queue) {
			add(q, e.Object, true)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1alpha1.VersionRemoval], q queue) {
			add(q, e.ObjectNew, e.ObjectOld.UID != e.ObjectNew.UID || e.ObjectOld.Generation != e.ObjectNew.Generation)
			if e.ObjectOld.Spec.CRDName != e.ObjectNew.Spec.CRDName { // it was deleted and made again while the watch was away
				q.Add(aboutCRD(e.ObjectOld.Spec.CRDName))
			}
		},
	}
}

// waiting are the VersionRemovals that name a CRD.
func (r *Reconciler) waiting(ctx context.Context, crd string) (requests []ctrl.Request) {
	list := &v1alpha1.VersionRemovalList{}
	if err := r.client.List(ctx, list, client.MatchingFields{crdNameIndex: crd}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing the VersionRemovals of a CRD", "crd", crd)
		return nil
	}
	for i := range list.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// recorder is the process' recorder of GitOps metrics; there can be only one.
var recorder = sync.OnceValue(metrics.MustMakeRecorder)
