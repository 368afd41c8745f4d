package owners

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
)

// maxLiving bounds how many owners are remembered.
const maxLiving = 10_000

// identity is what a reference has to agree with its owner in. A UID alone is not enough. The garbage collector treats
// a reference with the right UID and another name, kind or namespace as one to an owner that does not exist. See
// ownerReferenceMatchesCoordinates and the namespace of absentOwnerCacheKey, in
// k8s.io/kubernetes/pkg/controller/garbagecollector, graph.go and garbagecollector.go.
type identity struct {
	kind schema.GroupKind
	name types.NamespacedName
	uid  types.UID
}

// living are owners that were read and exist. Those that do not are asked for each time, since they may have been made since.
type living struct {
	mu     *sync.Mutex
	owners map[identity]bool // true for those that are being deleted
}

func newLiving() living { return living{&sync.Mutex{}, map[identity]bool{}} }

func (l *living) known(owner identity) (terminating, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	terminating, known = l.owners[owner]
	return terminating, known
}

func (l *living) add(owner identity, terminating bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.owners) >= maxLiving {
		clear(l.owners)
	}
	l.owners[owner] = terminating
}

// owner is what is known of the owner of a reference.
type owner struct {
	terminating bool
	// reason and why say why the reference is not to be moved; empty if it is.
	reason repairs.Reason
	why    string
}

// owner reads the owner of a reference. The error is the context's.
func (v *visit) owner(ctx context.Context, m match) (owner, error) {
	key := types.NamespacedName{Name: m.Name}
	if m.target.Namespaced {
		if key.Namespace = v.item.Namespace; key.Namespace == "" {
			return owner{reason: OwnerGone, why: "its owner would be in a namespace, and the object is in none: Kubernetes knows no such owner"}, nil
		}
	}
	id := identity{kind: schema.GroupKind{Group: m.target.Group, Kind: m.target.Kind}, name: key, uid: m.UID}
	if terminating, known := v.living.known(id); known {
		return owner{terminating: terminating}, nil
	}
	var read *metav1.PartialObjectMetadata
	err := v.Retry().Do(ctx, func() (err error) {
		read, err = v.room.In(v.Client.Resource(m.target.resource())).Get(ctx, key)
		return err
	})
	if ctx.Err() != nil {
		return owner{}, ctx.Err()
	}
	o := ownerOf(m, read, err)
	if o.reason == "" {
		v.living.add(id, o.terminating)
	}
	return o, nil
}

// ownerOf judges what was read, or the error.
func ownerOf(m match, read *metav1.PartialObjectMetadata, err error) owner {
	switch {
	case rewrite.IsGone(err, m.target.Group, m.Name):
		return owner{reason: OwnerGone, why: "its owner does not exist"}
	case err != nil:
		return owner{reason: repairs.OwnerUnknown, why: "its owner cannot be read: " + err.Error()}
	case read.UID != m.UID:
		return owner{reason: OwnerGone, why: fmt.Sprintf("its owner does not exist: %s is another object now, with the uid %s", m.Name, read.UID)}
	default:
		return owner{terminating: read.DeletionTimestamp != nil}
	}
}
