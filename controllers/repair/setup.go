package repair

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
)

// controllerName appears in logs, metrics and Events.
const controllerName = "moult-repair"

// cacheSyncTimeout is long enough for a list of a thousand large CRDs from a busy API server.
const cacheSyncTimeout = 10 * time.Minute

// SetupWithManager adds the reconciler to a manager. Beside what the migration needs, the manager's identity needs list and
// patch on the resources that have owner references. What it lacks is named in an Event on the CRD, and all else goes on.
func SetupWithManager(mgr manager.Manager, opts Options) error {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return err
	}
	if opts.Recorder == nil {
		opts.Recorder = mgr.GetEventRecorder(controllerName)
	}
	crds, err := newCache(mgr, opts.LabelKey)
	if err != nil {
		return fmt.Errorf("cache of CRDs: %w", err)
	}
	objects, err := rewrite.NewClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	metrics, err := newRecorder(opts.Registerer)
	if err != nil {
		return err
	}
	r := newReconciler(opts, crds, objects, metrics)
	if err := mgr.Add(crds); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(r.stopWithManager)); err != nil {
		return err
	}
	skip := true    // two managers may live in one process
	ranked := false // as in controllers/migration
	c, err := controller.New(controllerName, mgr, controller.Options{
		CacheSyncTimeout: cacheSyncTimeout, Reconciler: r, MaxConcurrentReconciles: 1, SkipNameValidation: &skip, UsePriorityQueue: &ranked,
	})
	if err != nil {
		return err
	}
	if err := c.Watch(source.Kind(crds, &apiextensionsv1.CustomResourceDefinition{},
		handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, *apiextensionsv1.CustomResourceDefinition) []ctrl.Request {
			return []ctrl.Request{everything}
		}))); err != nil {
		return err
	}
	return c.Watch(source.Func(r.woken))
}

// everything is the one item of work.
var everything = ctrl.Request{NamespacedName: types.NamespacedName{Name: "owner-references"}}

// woken wakes the reconciler when a migration gets further, when versions are asked to go, and when a repair has ended.
func (r *Reconciler) woken(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	wake := func() { queue.Add(everything) }
	r.opts.Migration.Follow(wake)
	go func() {
		for {
			select {
			case <-r.ended:
				wake()
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// newCache watches the CRDs that are opted in, without what is never looked at. The annotation alone would not select them.
func newCache(mgr manager.Manager, labelKey string) (cache.Cache, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return cache.New(mgr.GetConfig(), cache.Options{
		Scheme: scheme, HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			&apiextensionsv1.CustomResourceDefinition{}: {
				Label: labels.SelectorFromSet(labels.Set{labelKey: v1alpha1.MigrateLabelValue}), Transform: strip,
			},
		},
	})
}

// strip drops the schemas, which are nearly all of a CRD, and what else is never looked at.
func strip(in any) (any, error) {
	crd, ok := in.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return in, nil
	}
	crd.ManagedFields, crd.Status, crd.Spec.Conversion = nil, apiextensionsv1.CustomResourceDefinitionStatus{}, nil
	for key := range crd.Annotations {
		if key != v1alpha1.PausedAnnotation && key != v1alpha1.RepairOwnersAnnotation {
			delete(crd.Annotations, key)
		}
	}
	for i, v := range crd.Spec.Versions {
		crd.Spec.Versions[i] = apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served, Storage: v.Storage}
	}
	return crd, nil
}
