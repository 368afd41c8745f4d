package removal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
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

// here is what an Application may say of the cluster that it is in, as policies/delivery has it, which needs Kustomize.
var here = []string{"", "https://kubernetes.default.svc", "in-cluster"}

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

// object is what a Kustomization or an Application shows of a VersionRemoval.
type object struct {
	candidate

	// applies reports whether the tool's own inventory has the VersionRemoval. What is applied to another cluster is another VersionRemoval.
	applies bool
	// answered is the request that a Kustomization has answered, and is ready after; empty if it is not ready.
	answered string
}

// objectOf judges what was read.
func objectOf(name candidate, content content, removal types.NamespacedName) *object {
	o := &object{candidate: name}
	if name.kind == application {
		want := map[string]string{"group": v1alpha1.GroupVersion.Group, "kind": "VersionRemoval", "namespace": removal.Namespace, "name": removal.Name}
		server, _, _ := unstructured.NestedString(content, "spec", "destination", "server")
		cluster, _, _ := unstructured.NestedString(content, "spec", "destination", "name")
		remote := !slices.Contains(here, server) || !slices.Contains(here, cluster)
		o.applies = !remote && content.has([]string{"status", "resources"}, want)
		return o
	}
	_, remote, _ := unstructured.NestedFieldNoCopy(content, "spec", "kubeConfig")
	id := fmt.Sprintf("%s_%s_%s_VersionRemoval", removal.Namespace, removal.Name, v1alpha1.GroupVersion.Group) // as in github.com/fluxcd/cli-utils/pkg/object
	o.applies = !remote && content.has([]string{"status", "inventory", "entries"}, map[string]string{"id": id})
	if content.has([]string{"status", "conditions"}, map[string]string{"type": meta.ReadyCondition, "status": "True"}) {
		o.answered, _, _ = unstructured.NestedString(content, "status", "lastHandledReconcileAt")
	}
	return o
}

// content is a whole object, which is not kept.
type content map[string]any

// has reports whether a list has an item with such fields.
func (c content) has(list []string, want map[string]string) bool {
	items, _, _ := unstructured.NestedFieldNoCopy(c, list...)
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

// tools reads the objects of Flux and Argo CD, and annotates them. How many there are, and how large each is, is up to tenants. So no more
// are held than there is room for.
type tools struct {
	client client.Client
	one    oneObject
	each   eachObject
	losses rewrite.Losses
}

// oneObject hands over one whole object of a resource.
type oneObject func(ctx context.Context, of schema.GroupVersionResource, name types.NamespacedName, take func(content)) error

// eachObject hands over all objects of a resource, whole, a page at a time. If the list starts anew, again is called, and they all come
// once more.
type eachObject func(ctx context.Context, of schema.GroupVersionResource, again func(), take func(page []map[string]any) error) error

var resources = map[schema.GroupVersionKind]schema.GroupVersionResource{
	kustomization: kustomization.GroupVersion().WithResource("kustomizations"),
	application:   application.GroupVersion().WithResource("applications"),
}

// get reads the object of a tool, for what it shows of a VersionRemoval.
func (t tools) get(ctx context.Context, name candidate, removal types.NamespacedName) (o *object, err error) {
	err = t.one(ctx, resources[name.kind], name.NamespacedName, func(c content) { o = objectOf(name, c, removal) })
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", name.kind.Kind, name, err)
	}
	return o, nil
}

// dependents are the Kustomizations that depend on owner.
func (t tools) dependents(ctx context.Context, owner candidate) (names []candidate, err error) {
	err = t.each(ctx, resources[kustomization], func() { names = nil }, func(page []map[string]any) error {
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

// see has the time begin for which the CRDs of the tools have to stay as they are. What fails is asked anew before a write.
func (t tools) see(ctx context.Context) {
	for _, at := range resources {
		if t.losses == nil {
			return
		}
		if _, done, err := t.losses.Of(ctx, at); err == nil {
			done()
		}
	}
}

func (t tools) annotate(ctx context.Context, to candidate, key, value string) error {
	if why, err := rewrite.LossOf(ctx, t.losses, resources[to.kind], to.NamespacedName, true); err != nil {
		return fmt.Errorf("annotating %s %s: %w", to.kind.Kind, to, err)
	} else if why != "" {
		return fmt.Errorf("%s %s is not annotated, since it would lose fields: %s", to.kind.Kind, to, why)
	}
	o := &metav1.PartialObjectMetadata{} // the answer may be short
	o.SetGroupVersionKind(to.kind)
	o.SetName(to.Name)
	o.SetNamespace(to.Namespace)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if err := t.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("annotating %s %s: %w", to.kind.Kind, to, err)
	}
	return nil
}
