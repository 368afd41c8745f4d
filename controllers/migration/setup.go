package migration

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// controllerName appears in logs, metrics and Events.
const controllerName = "moult-migration"

// cacheSyncTimeout is long enough for a list of a thousand large CRDs from a busy API server.
const cacheSyncTimeout = 10 * time.Minute

// SetupWithManager adds the migration reconciler to a manager. The manager's identity needs get, list and watch on
// customresourcedefinitions, patch on customresourcedefinitions/status, get on apiservices, and create and patch on
// events. It needs get, list and patch on the custom resources themselves, and patch on their status. Without the last,
// objects are written to at the main resource, which costs the API server more and asks admission webhooks.
func SetupWithManager(mgr manager.Manager, opts Options) error {
	opts = opts.withDefaults()
	if opts.Recorder == nil {
		opts.Recorder = mgr.GetEventRecorder(controllerName)
	}
	crds, err := newCache(mgr, opts)
	if err != nil {
		return fmt.Errorf("cache of CRDs: %w", err)
	}
	live, err := liveClient(mgr)
	if err != nil {
		return fmt.Errorf("client for CRDs: %w", err)
	}
	r, err := newReconciler(mgr.GetConfig(), mgr.GetHTTPClient(), crds, live, opts)
	if err != nil {
		return err
	}
	if err := mgr.Add(crds); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(r.stopWithManager)); err != nil {
		return err
	}
	return r.watch(mgr, source.Kind(crds, &apiextensionsv1.CustomResourceDefinition{},
		&handler.TypedEnqueueRequestForObject[*apiextensionsv1.CustomResourceDefinition]{}), r.unlabelled(live), r.woken())
}

// watch has the reconciler woken.
func (r *Reconciler) watch(mgr manager.Manager, sources ...source.Source) error {
	skip := true    // two managers may live in one process
	ranked := false // the ranked queue can leave goroutines behind when it is shut down (controller-runtime v0.24.1, priorityqueue.go)
	c, err := controller.New(controllerName, mgr, controller.Options{
		CacheSyncTimeout: cacheSyncTimeout,
		Reconciler:       r, MaxConcurrentReconciles: 4, SkipNameValidation: &skip, UsePriorityQueue: &ranked,
	})
	if err != nil {
		return err
	}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	return nil
}

// liveClient reads and writes CRDs without a cache.
func liveClient(mgr manager.Manager) (client.Client, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	return client.New(mgr.GetConfig(), client.Options{Scheme: scheme, HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper()})
}

// stopWithManager ends all walks when the manager stops or loses its lease, and
// waits for them.
func (r *Reconciler) stopWithManager(ctx context.Context) error {
	<-ctx.Done()
	r.walks.stopAll()
	return nil
}

// woken wakes the reconciler for each CRD whose walk has ended, or whose versions
// are asked to go.
func (r *Reconciler) woken() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		go func() {
			for {
				var name string
				select {
				case name = <-r.walks.woken:
				case name = <-r.states.requested:
				case <-ctx.Done():
					return
				}
				queue.Add(request(name))
			}
		}()
		return nil
	})
}

func request(crd string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Name: crd}}
}
