package removal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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

// candidate names a Flux Kustomization or an Argo CD Application.
type candidate struct {
	kind schema.GroupVersionKind
	types.NamespacedName
}

// candidateOf is what the labels and annotations of a VersionRemoval say applies it.
// Its author may have written them.
func candidateOf(removal *v1alpha1.VersionRemoval) (candidate, bool) {
	if name, ok := fluxOwner(removal); ok {
		return candidate{kustomization, name}, true
	}
	name, ok := argoOwner(removal)
	return candidate{application, name}, ok
}

// fluxOwner is the Kustomization that the labels name.
func fluxOwner(removal *v1alpha1.VersionRemoval) (types.NamespacedName, bool) {
	name := types.NamespacedName{Namespace: removal.Labels[fluxNamespace], Name: removal.Labels[fluxName]}
	return name, name.Name != "" && name.Namespace != ""
}

// argoOwner is the Application that the tracking names, by annotation
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

// object is a Kustomization or an Application as it was read.
type object struct {
	candidate
	content map[string]any
}

// applies reports whether the tool's own inventory has a VersionRemoval. What a
// Kustomization applies to another cluster is another VersionRemoval.
func (o *object) applies(removal types.NamespacedName) bool {
	if o.kind == application {
		want := map[string]string{"group": v1alpha1.GroupVersion.Group, "kind": "VersionRemoval", "namespace": removal.Namespace, "name": removal.Name}
		return o.has([]string{"status", "resources"}, want)
	}
	_, remote, _ := unstructured.NestedFieldNoCopy(o.content, "spec", "kubeConfig")
	id := fmt.Sprintf("%s_%s_%s_VersionRemoval", removal.Namespace, removal.Name, v1alpha1.GroupVersion.Group) // as in github.com/fluxcd/cli-utils/pkg/object
	return !remote && o.has([]string{"status", "inventory", "entries"}, map[string]string{"id": id})
}

// answers reports whether a Kustomization has answered a request and is ready.
func (o *object) answers(token string) bool {
	at, _, _ := unstructured.NestedString(o.content, "status", "lastHandledReconcileAt")
	return at == token && o.has([]string{"status", "conditions"}, map[string]string{"type": meta.ReadyCondition, "status": "True"})
}

// has reports whether a list has an item with such fields.
func (o *object) has(list []string, want map[string]string) bool {
	items, _, _ := unstructured.NestedFieldNoCopy(o.content, list...)
	all, _ := items.([]any)
	for _, item := range all {
		fields, _ := item.(map[string]any)
		found := true
		for key, value := range want {
			found = found && fields[key] == value
		}
		if found {
			return true
		}
	}
	return false
}

// tools reads the objects of Flux and Argo CD, and annotates them.
type tools struct {
	client client.Client
	live   client.Reader
	each   eachObject
}

// eachObject hands over all objects of a resource, whole, a page at a time. They are as many and as large as tenants want, so no
// more are held than there is room for. If the list starts anew, again is called, and they all come once more.
type eachObject func(ctx context.Context, of schema.GroupVersionResource, again func(), take func(page []map[string]any) error) error

var kustomizations = kustomization.GroupVersion().WithResource("kustomizations")

func (t tools) get(ctx context.Context, name candidate) (*object, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(name.kind)
	if err := t.live.Get(ctx, name.NamespacedName, o); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", name.kind.Kind, name, err)
	}
	return &object{candidate: name, content: o.Object}, nil
}

// dependents are the Kustomizations that depend on owner.
func (t tools) dependents(ctx context.Context, owner candidate) (names []candidate, err error) {
	err = t.each(ctx, kustomizations, func() { names = nil }, func(page []map[string]any) error {
		for _, content := range page {
			item := &unstructured.Unstructured{Object: content}
			if dependsOn(item, owner.NamespacedName) {
				names = append(names, candidate{kustomization, client.ObjectKeyFromObject(item)})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing Kustomizations: %w", err)
	}
	return names, nil
}

// dependsOn reports whether a Kustomization depends on another one.
func dependsOn(item *unstructured.Unstructured, owner types.NamespacedName) bool {
	value, _, _ := unstructured.NestedFieldNoCopy(item.Object, "spec", "dependsOn")
	needs, _ := value.([]any)
	return slices.ContainsFunc(needs, func(need any) bool {
		fields, _ := need.(map[string]any)
		namespace, _ := fields["namespace"].(string)
		return fields["name"] == owner.Name && cmp.Or(namespace, item.GetNamespace()) == owner.Namespace
	})
}

func (t tools) annotate(ctx context.Context, to candidate, key, value string) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(to.kind)
	o.SetName(to.Name)
	o.SetNamespace(to.Namespace)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if err := t.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("annotating %s %s: %w", to.kind.Kind, to, err)
	}
	return nil
}
