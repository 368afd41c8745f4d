package rewrite

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/policies/unpacking"
)

// Visit is the room for the answers about one object, and about those that are read because of it. A walk has its own way.
type Visit struct{ answers }

// Visit waits for the room for an object that was listed with so many bytes. It is kept until End.
func (r *Room) Visit(ctx context.Context, bytes int64) (*Visit, error) {
	v := &Visit{answers{visits: r.others}}
	return v, v.makeRoom(ctx, bytes)
}

// End gives the room back.
func (v *Visit) End() { v.leave() }

// In are objects that are read and written within the room. An answer that takes more is read once no other large one is
// visited. That to a write is lost, so the object is read in its place.
func (v *Visit) In(objects Objects) Objects { return &visited{objects, v} }

type visited struct {
	Objects
	visit *Visit
}

func (o *visited) Get(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	object, err := o.Objects.Get(o.visit.within(ctx), key)
	if !errors.Is(err, ErrAnswerTooLarge) {
		return object, err
	}
	if err := o.visit.enlarge(ctx); err != nil {
		return nil, err
	}
	return o.Objects.Get(o.visit.within(ctx), key)
}

func (o *visited) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	object, err := o.Objects.Patch(o.visit.within(ctx), key, pt, body)
	if errors.Is(err, ErrAnswerTooLarge) {
		return o.Get(ctx, key)
	}
	return object, err
}

// ForFields waits for the room to decode managedFields, and keeps it until done is called; who has some asks for no more, neither of
// this nor of a visit. A tenant who writes an object decides what they hold.
func (r *Room) ForFields(ctx context.Context, entries ...[]metav1.ManagedFieldsEntry) (done func(), err error) {
	cost := int64(0)
	for _, all := range entries {
		for i := range all {
			of, _ := unpacking.CostOfJSON(all[i].FieldsV1.GetRawString())
			cost += of
		}
	}
	cost = min(cost, fieldsRoom)
	if err := r.fields.Acquire(ctx, cost); err != nil {
		return nil, err
	}
	return func() { r.fields.Release(cost) }, nil
}
