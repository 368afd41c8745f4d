package restore

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// owner is an object that owns others.
type owner struct {
	kind            schema.GroupKind
	namespace, name string
}

func (o owner) String() string {
	if o.namespace == "" {
		return fmt.Sprintf("%s %s", o.kind, o.name)
	}
	return fmt.Sprintf("%s %s/%s", o.kind, o.namespace, o.name)
}

// owners knows the UIDs that owners have in this cluster. Without the right one the garbage collector would delete what they own.
type owners struct {
	*restorer
	mu      sync.Mutex
	uids    map[owner]types.UID
	missing map[owner]bool // in this round
	last    bool           // nobody comes any more
}

func newOwners(r *restorer) *owners { return &owners{restorer: r, uids: map[owner]types.UID{}} }

// round forgets who was missing.
func (o *owners) round(last bool) { o.missing, o.last = map[owner]bool{}, last }

// here are an object's references to its owners with the UIDs of this cluster, and those of owners that are not there.
func (o *owners) here(ctx context.Context, object *unstructured.Unstructured) (refs []metav1.OwnerReference, missing []string, err error) {
	for _, ref := range object.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil {
			missing = append(missing, ref.Kind+" "+ref.Name)
			continue
		}
		who := owner{kind: schema.GroupKind{Group: gv.Group, Kind: ref.Kind}, namespace: object.GetNamespace(), name: ref.Name}
		uid, err := o.find(ctx, who)
		if err != nil {
			return nil, nil, err
		}
		if uid == "" {
			missing = append(missing, who.String())
			continue
		}
		ref.UID = uid
		refs = append(refs, ref)
	}
	return refs, missing, nil
}

func (o *owners) find(ctx context.Context, who owner) (types.UID, error) {
	mapping, err := o.mapper.RESTMapping(who.kind)
	if meta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		who.namespace = ""
	}
	o.mu.Lock()
	uid, missing := o.uids[who], o.missing[who]
	o.mu.Unlock()
	if uid != "" || missing {
		return uid, nil
	}
	found, err := o.objects.Resource(mapping.Resource).Namespace(who.namespace).Get(ctx, who.name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil || found.GetDeletionTimestamp() != nil {
		o.missing[who] = true
		return "", nil
	}
	o.uids[who] = found.GetUID()
	return found.GetUID(), nil
}

// wouldBe notes an object that only a dry run has created.
func (o *owners) wouldBe(object *unstructured.Unstructured) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.uids[owner{kind: object.GroupVersionKind().GroupKind(), namespace: object.GetNamespace(), name: object.GetName()}] = object.GetUID()
}
