package removal

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
)

const (
	fluxName      = "kustomize.toolkit.fluxcd.io/name"
	fluxNamespace = "kustomize.toolkit.fluxcd.io/namespace"

	argoTracking = "argocd.argoproj.io/tracking-id"
	argoInstance = "app.kubernetes.io/instance"
	argoRefresh  = "argocd.argoproj.io/refresh"
)

var (
	kustomization = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
	application   = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
)

// argoCDNamespace is where Applications are looked for when their tracking
// metadata does not say.
const argoCDNamespace = "argocd"

const (
	// ownerWait is how long a Flux Kustomization may take to answer. While it
	// waits for its objects it looks every five seconds, or at once if Flux runs
	// with the feature gate CancelHealthCheckOnNewRevision.
	ownerWait = time.Minute
	ownerPoll = 250 * time.Millisecond
)

// requester makes the GitOps tool that owns a VersionRemoval reconcile when the
// gate has opened. All it may write are the annotations made for that. It works
// in the background: a gate is open whether or not anybody reconciles.
type requester struct {
	client client.Client
	live   client.Reader
	clock  clock.Clock
	opened chan *v1alpha1.VersionRemoval
}

func newRequester(c client.Client, live client.Reader, clk clock.Clock) *requester {
	return &requester{client: c, live: live, clock: clk, opened: make(chan *v1alpha1.VersionRemoval, 128)}
}

// wake asks for a request.
func (r *requester) wake(ctx context.Context, removal *v1alpha1.VersionRemoval) {
	select {
	case r.opened <- removal.DeepCopy():
	default:
		ctrl.LoggerFrom(ctx).Info("too many gates open at once; no tool was asked to reconcile", "removal", client.ObjectKeyFromObject(removal))
	}
}

// Start makes requests until ctx ends.
func (r *requester) Start(ctx context.Context) error {
	for {
		select {
		case removal := <-r.opened:
			go func() {
				if err := r.request(ctx, removal); err != nil {
					ctrl.LoggerFrom(ctx).Error(err, "asking the owner of a VersionRemoval to reconcile", "removal", client.ObjectKeyFromObject(removal))
				}
			}()
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *requester) request(ctx context.Context, removal *v1alpha1.VersionRemoval) error {
	if name, ok := fluxOwner(removal); ok {
		return r.requestFlux(ctx, name)
	}
	if name, ok := argoOwner(removal); ok {
		return r.annotate(ctx, application, name, argoRefresh, "normal")
	}
	return nil
}

// requestFlux asks the owning Kustomization to look, waits until it has answered
// and is ready, and then asks its dependents, which nothing else wakes.
func (r *requester) requestFlux(ctx context.Context, owner types.NamespacedName) error {
	dependents, err := r.dependents(ctx, owner)
	if err != nil {
		return err
	}
	asked := r.now()
	if err := r.annotate(ctx, kustomization, owner, meta.ReconcileRequestAnnotation, asked); err != nil {
		return err
	}
	for deadline := r.clock.Now().Add(ownerWait); r.clock.Now().Before(deadline) && !r.answered(ctx, owner, asked); {
		select {
		case <-r.clock.After(ownerPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, dependent := range dependents {
		if err := r.annotate(ctx, kustomization, dependent, meta.ReconcileRequestAnnotation, r.now()); err != nil {
			return err
		}
	}
	return nil
}

// dependents are the Kustomizations that depend on owner.
func (r *requester) dependents(ctx context.Context, owner types.NamespacedName) (names []types.NamespacedName, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kustomization.GroupVersion().WithKind("KustomizationList"))
	if err := r.live.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing Kustomizations: %w", err)
	}
	for i := range list.Items {
		item := &list.Items[i]
		needs, _, _ := unstructured.NestedSlice(item.Object, "spec", "dependsOn")
		for _, need := range needs {
			fields, _ := need.(map[string]any)
			name, _, _ := unstructured.NestedString(fields, "name")
			namespace, found, _ := unstructured.NestedString(fields, "namespace")
			if !found || namespace == "" {
				namespace = item.GetNamespace()
			}
			if name == owner.Name && namespace == owner.Namespace {
				names = append(names, client.ObjectKeyFromObject(item))
			}
		}
	}
	return names, nil
}

// answered tells whether a Kustomization has answered the request and is ready.
func (r *requester) answered(ctx context.Context, name types.NamespacedName, asked string) bool {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kustomization)
	if r.live.Get(ctx, name, object) != nil {
		return false
	}
	if at, _, _ := unstructured.NestedString(object.Object, "status", "lastHandledReconcileAt"); at != asked {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		if fields["type"] == meta.ReadyCondition {
			return fields["status"] == "True"
		}
	}
	return false
}

func (r *requester) annotate(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, key, value string) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetName(name.Name)
	object.SetNamespace(name.Namespace)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if err := r.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("annotating %s %s: %w", kind.Kind, name, err)
	}
	return nil
}

func (r *requester) now() string { return r.clock.Now().UTC().Format(time.RFC3339Nano) }

// fluxOwner is the Kustomization whose inventory a VersionRemoval is in.
func fluxOwner(removal *v1alpha1.VersionRemoval) (types.NamespacedName, bool) {
	name := types.NamespacedName{Namespace: removal.Labels[fluxNamespace], Name: removal.Labels[fluxName]}
	return name, name.Name != "" && name.Namespace != ""
}

// argoOwner is the Application that tracks a VersionRemoval, by annotation
// ("[namespace_]name:group/kind:namespace/name") or by label.
func argoOwner(removal *v1alpha1.VersionRemoval) (types.NamespacedName, bool) {
	name, _, _ := strings.Cut(removal.Annotations[argoTracking], ":")
	if name == "" {
		name = removal.Labels[argoInstance]
	}
	namespace := argoCDNamespace
	if ns, rest, found := strings.Cut(name, "_"); found {
		namespace, name = ns, rest
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, name != ""
}
