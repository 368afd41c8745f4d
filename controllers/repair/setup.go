package repair

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/words"
)

// controllerName appears in Events, and begins the names in logs and metrics.
const controllerName = "moult-repair"

// SetupWithManager adds a reconciler for each kind to a manager. Beside what the migration needs, the manager's identity needs list
// and patch on the resources that have owner references, and what survivors.Move declares for those with stashed copies. What it
// lacks is named in an Event on the CRD, and all else goes on.
func SetupWithManager(mgr manager.Manager, opts Options) error {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return err
	}
	if opts.Recorder == nil {
		opts.Recorder = setup.Recorder(mgr, controllerName)
	}
	crds, err := setup.OptedIn(mgr, opts.LabelKey, stripper(opts.LabelKey))
	if err != nil {
		return fmt.Errorf("cache of CRDs: %w", err)
	}
	if err := mgr.Add(crds); err != nil {
		return err
	}
	references, err := newOwnerReferences(mgr, opts, crds)
	if err != nil {
		return err
	}
	copies, err := newStashedCopies(mgr, opts, crds)
	if err != nil {
		return err
	}
	return errors.Join(add(mgr, controllerName+"-owners", crds, references), add(mgr, controllerName+"-stashes", crds, copies))
}

func newOwnerReferences(mgr manager.Manager, opts Options, crds lister) (*Reconciler, error) {
	objects, err := rewrite.NewClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	metrics, err := newOwnerMetrics(opts.Registerer)
	kind := &ownerReferences{cluster: opts.Cluster, losses: opts.Losses, objects: objects, lane: opts.Pace.Lane(), room: opts.Room, clock: opts.Clock}
	return newReconciler(opts, crds, kind, ownerEvents, metrics), err
}

func newStashedCopies(mgr manager.Manager, opts Options, crds lister) (*Reconciler, error) {
	paced := rest.CopyConfig(mgr.GetConfig())
	paced.QPS, paced.Burst = -1, -1 // the lane paces
	objects, err := dynamic.NewForConfigAndClient(paced, rewrite.BoundErrors(mgr.GetHTTPClient()))
	if err != nil {
		return nil, err
	}
	metrics, err := newStashMetrics(opts.Registerer)
	kind := &stashedCopies{
		cluster: opts.Cluster, losses: opts.Losses, places: opts.Places, newConverter: opts.NewConverter, client: objects, lane: opts.Pace.Lane(), clock: opts.Clock,
		recorder: opts.Recorder,
	}
	return newReconciler(opts, crds, kind, copyEvents, metrics), err
}

// add has the manager run a reconciler.
func add(mgr manager.Manager, name string, crds cache.Cache, r *Reconciler) error {
	if err := mgr.Add(manager.RunnableFunc(r.stopWithManager)); err != nil {
		return err
	}
	return setup.Controller(mgr, name, controller.Options{Reconciler: r, MaxConcurrentReconciles: 1},
		source.Kind(crds, &apiextensionsv1.CustomResourceDefinition{},
			handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, *apiextensionsv1.CustomResourceDefinition) []ctrl.Request {
				return []ctrl.Request{everything}
			})), source.Func(r.woken))
}

// everything is the one item of work.
var everything = ctrl.Request{NamespacedName: types.NamespacedName{Name: "all-crds"}}

// woken wakes the reconciler when a migration gets further, when versions are asked to go, and when a repair has ended.
func (r *Reconciler) woken(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	r.opts.Migration.Follow(func() { queue.Add(everything) })
	return setup.Woken(r.ended, func(context.Context, struct{}) []ctrl.Request { return []ctrl.Request{everything} }).Start(ctx, queue)
}

// stripper drops the schemas, which are nearly all of a CRD, and what else is never looked at. The annotations of a repair select
// no CRD by themselves: it has to be opted in.
func stripper(labelKey string) func(any) (any, error) {
	return func(in any) (any, error) {
		crd, ok := in.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			return in, nil
		}
		crd.ManagedFields, crd.Status, crd.Spec.Conversion = nil, apiextensionsv1.CustomResourceDefinitionStatus{}, nil
		crd.Labels = labelorigin.Labels(crd.Labels, labelKey)
		crd.Finalizers, crd.OwnerReferences = nil, nil
		for key, value := range crd.Annotations {
			switch key {
			case v1alpha1.PausedAnnotation, v1alpha1.RepairOwnersAnnotation, v1alpha1.MigrateStashesAnnotation:
				crd.Annotations[key] = words.Clip(value, words.MostQuoted)
			default:
				delete(crd.Annotations, key)
			}
		}
		crd.Spec.Names = setup.Names(crd)
		for i, v := range crd.Spec.Versions {
			crd.Spec.Versions[i] = apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served, Storage: v.Storage}
		}
		return crd, nil
	}
}
