package owners

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
)

// restoreTime is how long the second write may go on after a repair was stopped. It would leave the reference with the wrong
// owner otherwise, and the next repair has nothing to find there.
const restoreTime = 5 * time.Second

// errBusyObject is why ownership stays with the one who moved a reference.
var errBusyObject = errors.New("the object is written all the time")

// restoreOwnership returns the ownership of references that were just moved. If that fails, they are moved all the
// same, and the report reports who owns them.
func (v *visit) restoreOwnership(ctx context.Context, after *metav1.PartialObjectMetadata, found []match) {
	ctx, cancel := withGracePeriod(ctx)
	defer cancel()
	before := v.item.ManagedFields
	v.item = after
	var err error
	for try := 0; err == nil; try++ {
		var entries []metav1.ManagedFieldsEntry
		if entries, err = v.givenBack(ctx, before, after.ManagedFields, ownersOf(found)); err != nil || entries == nil {
			break
		}
		if try == repairs.MaxRaces {
			err = errBusyObject
			break
		}
		var body []byte
		if body, err = rewrite.Body(append(rewrite.SameState(v.item), rewrite.Operation{Op: "replace", Path: "/metadata/managedFields", Value: entries})); err != nil {
			break
		}
		restored, refusal := v.patch(ctx, body, func() {})
		if refusal == nil {
			v.item = restored
			return
		}
		fresh, getErr := v.read(ctx)
		switch {
		case rewrite.IsGone(getErr, v.at.Group, v.item.Name), getErr == nil && fresh.UID != v.item.UID:
			return
		case getErr != nil, fresh.ResourceVersion == v.item.ResourceVersion:
			err = refusal
		default:
			v.item = fresh
		}
	}
	if err != nil {
		for _, m := range found {
			v.taken(m.target.CRD, err.Error())
		}
	}
}

// givenBack are the entries of the object as it is now, with the references owned as before. It is nil if they are.
func (v *visit) givenBack(ctx context.Context, before, after []metav1.ManagedFieldsEntry, moved []types.UID) ([]metav1.ManagedFieldsEntry, error) {
	done, err := v.Room.ForFields(ctx, before, after, v.item.ManagedFields)
	if err != nil {
		return nil, err
	}
	defer done()
	had, err := decode(before)
	if err != nil {
		return nil, err
	}
	then, err := decode(after)
	if err != nil {
		return nil, err
	}
	now, err := decode(v.item.ManagedFields)
	if err != nil {
		return nil, err
	}
	return restored(had, now, takers(had, then, moved), moved)
}

// withGracePeriod is a context that ends a while after its parent.
func withGracePeriod(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		late, end := context.WithTimeout(ctx, restoreTime)
		defer end()
		<-late.Done()
		cancel()
	})
	return ctx, func() { stop(); cancel() }
}
