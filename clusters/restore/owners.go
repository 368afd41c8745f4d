package restore

import (
	"context"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/policies/words"
)

// owner is an object that owns others.
type owner struct {
	kind            schema.GroupKind
	namespace, name string
}

func (o owner) String() string { return o.kind.String() + " " + words.FullName(o.namespace, o.name) }

// owners knows the UIDs that owners have in this cluster. Without the right one the garbage collector would delete what they own.
type owners struct {
	*restorer
	mu      sync.Mutex
	uids    map[owner]types.UID
	missing map[owner]bool // in this round
	// waiting are objects that wait for an owner themselves: in the round before, and in this one.
	waited, waiting map[owner]bool
	stage           stage
}

// stage is what becomes of an object with an owner that is not there. The set is closed.
type stage int

const (
	// stageWait: it waits, as the owner may be restored.
	stageWait stage = iota
	// stageDrop: it is restored without the owner, unless that waits for another one itself.
	stageDrop
	// stageEnd: no more owners come.
	stageEnd
)

func newOwners(r *restorer) *owners { return &owners{restorer: r, uids: map[owner]types.UID{}} }

// round forgets who was missing.
func (o *owners) round(s stage) {
	o.missing, o.stage = map[owner]bool{}, s
	o.waited, o.waiting = o.waiting, map[owner]bool{}
}

// wait notes an object that waits.
func (o *owners) wait(object *unstructured.Unstructured) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting[ownerOf(object)] = true
}

func ownerOf(object *unstructured.Unstructured) owner {
	return owner{kind: object.GroupVersionKind().GroupKind(), namespace: object.GetNamespace(), name: object.GetName()}
}

// mayCome reports whether one of some owners waits itself.
func (o *owners) mayCome(missing []owner) bool {
	return slices.ContainsFunc(missing, func(who owner) bool { return o.waited[who] })
}

// here are an object's references to its owners with the UIDs of this cluster, and those of owners that are not there.
func (o *owners) here(ctx context.Context, object *unstructured.Unstructured) (refs []metav1.OwnerReference, missing []owner, err error) {
	for _, ref := range object.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil {
			missing = append(missing, owner{kind: schema.GroupKind{Kind: ref.Kind}, name: ref.Name})
			continue
		}
		who := owner{kind: schema.GroupKind{Group: gv.Group, Kind: ref.Kind}, namespace: object.GetNamespace(), name: ref.Name}
		uid, err := o.find(ctx, &who)
		if err != nil {
			return nil, nil, err
		}
		if uid == "" {
			missing = append(missing, who)
			continue
		}
		ref.UID = uid
		if ref.APIVersion, err = o.served(who.kind, gv); err != nil {
			return nil, nil, err
		}
		refs = append(refs, ref)
	}
	return refs, missing, nil
}

// served is the version of a reference, or one that the cluster has, if it no longer has that. The garbage collector
// would take an owner that it cannot find at the version for one that no longer exists, and delete what it owns.
func (o *owners) served(kind schema.GroupKind, gv schema.GroupVersion) (string, error) {
	_, err := o.mapper.RESTMapping(kind, gv.Version)
	if !meta.IsNoMatchError(err) {
		return gv.String(), err
	}
	mapping, err := o.mapper.RESTMapping(kind)
	if err != nil {
		return "", err
	}
	return mapping.GroupVersionKind.GroupVersion().String(), nil
}

// find asks for the UID of an owner, and notes whether it has a namespace.
func (o *owners) find(ctx context.Context, of *owner) (types.UID, error) {
	who := *of
	mapping, err := o.mapper.RESTMapping(who.kind)
	if meta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		who.namespace, of.namespace = "", ""
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

// came notes an object that somebody waits for; of a dry run, each that would be created.
func (o *owners) came(object *unstructured.Unstructured) {
	who := ownerOf(object)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.missing[who] || o.DryRun {
		o.uids[who] = object.GetUID()
	}
}
