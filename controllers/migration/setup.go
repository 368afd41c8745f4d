package migration

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moult-dev/moult/controllers/setup"
)

// controllerName appears in logs, metrics and Events.
const controllerName = "moult-migration"

// SetupWithManager adds the migration reconciler to a manager. The manager's identity needs get, list and watch on
// customresourcedefinitions, patch on customresourcedefinitions/status, get on apiservices, and create and patch on
// events. It needs get, list and patch on the custom resources themselves, and patch on their status. Without the last,
// objects are written to at the main resource, which costs the API server more and asks admission webhooks.
func SetupWithManager(mgr manager.Manager, opts Options) error {
	opts = opts.withDefaults()
	if opts.Recorder == nil {
		opts.Recorder = setup.Recorder(mgr, controllerName)
	}
	crds, err := setup.OptedIn(mgr, opts.LabelKey, stripper(opts.LabelKey))
	if err != nil {
		return fmt.Errorf("cache of CRDs: %w", err)
	}
	live, err := setup.Client(mgr, nil)
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
	return setup.Controller(mgr, controllerName, controller.Options{Reconciler: r, MaxConcurrentReconciles: 4},
		source.Kind(crds, &apiextensionsv1.CustomResourceDefinition{}, &handler.TypedEnqueueRequestForObject[*apiextensionsv1.CustomResourceDefinition]{}),
		r.unlabelled(), setup.Woken(r.walks.woken, requestFor), setup.Woken(r.states.requested, requestFor))
}

// stopWithManager ends all walks when the manager stops or loses its lease, and
// waits for them.
func (r *Reconciler) stopWithManager(ctx context.Context) error {
	<-ctx.Done()
	r.walks.stopAll()
	return nil
}

func requestFor(_ context.Context, crd string) []ctrl.Request { return []ctrl.Request{request(crd)} }

func request(crd string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Name: crd}}
}
