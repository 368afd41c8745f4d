package rewrite

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Losses reports what objects would lose if Moult wrote them. Every write stores an object at the storage version of its CRD, whatever
// it is for. So what writes objects of other CRDs than the one that is migrated asks first.
type Losses interface {
	// Of is about the objects of a resource, as its CRD is now. ask is nil if none would lose anything. Until done is called it takes up
	// room for schemas, so a caller that has one asks for no other.
	Of(ctx context.Context, resource schema.GroupResource) (ask AskLoss, done func(), err error)
}

// AskLoss says what an object would lose by a write, and what to do; empty if it would lose nothing.
type AskLoss func(ctx context.Context, key types.NamespacedName) (why string, err error)

// LossOf is about one object. Without Losses, nothing is asked.
func LossOf(ctx context.Context, all Losses, resource schema.GroupResource, key types.NamespacedName) (why string, err error) {
	if all == nil {
		return "", nil
	}
	ask, done, err := all.Of(ctx, resource)
	if err != nil {
		return "", err
	}
	defer done()
	if ask == nil {
		return "", nil
	}
	return ask(ctx, key)
}
