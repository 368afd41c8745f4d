package rewrite

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errOwnershipLost fails an object whose managedFields could not be put back.
var errOwnershipLost = errors.New("the API server cleared the object's managedFields during the rewrite and they could not be put back; apply the object again with its own tool")

// wiped tells whether a write has made the API server forget who owns what. It
// does so, without an error, when it cannot convert an object between the
// versions its entries name, for example because the conversion webhook failed
// at that moment (kubernetes#136919).
func wiped(before, after *metav1.PartialObjectMetadata) bool {
	return len(before.ManagedFields) > 0 && len(after.ManagedFields) == 0
}

// restore puts the entries of before back on an object that has lost them.
func (v *visitor) restore(ctx context.Context, before, after *metav1.PartialObjectMetadata) error {
	entries, err := v.Ownership.Move(before.ManagedFields)
	if err != nil {
		return err
	}
	for range maxRaces {
		restored, err := v.patch(ctx, v.key(), replaceEntries(after, entries))
		switch {
		case err == nil && len(restored.ManagedFields) > 0:
			return nil
		case err == nil:
			after = restored
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if err := v.patience.pause(ctx, err); err != nil {
			return err
		}
		fresh, err := v.Objects.Get(ctx, v.key())
		if c, _ := classify(err); err != nil && c == gone {
			return nil
		}
		if err == nil {
			if len(fresh.ManagedFields) > 0 {
				return nil // somebody has applied the object meanwhile
			}
			after = fresh
		}
	}
	return errOwnershipLost
}
