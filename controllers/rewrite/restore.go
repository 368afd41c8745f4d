package rewrite

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// restoreTimeout bounds how long entries are put back; a walk that is stopped
// meanwhile ends that much later.
const restoreTimeout = 20 * time.Second

var (
	// errOwnershipLost fails an object whose managedFields could not be put back.
	errOwnershipLost = errors.New("the API server cleared the object's managedFields during the rewrite and they could not be put back; apply the object again with its own tool")
	// errUnconvertible is why entries are moved without being asked for.
	errUnconvertible = errors.New("the API server had cleared the object's managedFields, and while the conversion webhook fails they can only be put back at the storage version")
	// errNotMoved fails an object whose repair was accepted without effect.
	errNotMoved = errors.New("the API server accepted the object's new managedFields and kept the old ones; look for an admission webhook that sets them")
)

// wiped reports whether a write has made the API server forget who owns what. It
// does so, without an error, when it cannot convert an object between the
// versions its entries name, for example because the conversion webhook failed
// at that moment (kubernetes#136919).
func wiped(before, after *metav1.PartialObjectMetadata) bool {
	return len(before.ManagedFields) > 0 && len(after.ManagedFields) == 0
}

// hasLost reports whether a write has made the API server forget owners.
func (v *visitor) hasLost(ctx context.Context, w *write, after *metav1.PartialObjectMetadata) bool {
	if wiped(v.item, after) || len(w.unwatched) == 0 {
		return wiped(v.item, after)
	}
	defer v.roomAnyhow(ctx, w.unwatched, after.ManagedFields)()
	return w.forgotten(after)
}

// roomAnyhow is ForFields for entries that only this walk still knows. They are put back without room if others have it for too long.
func (v *visitor) roomAnyhow(ctx context.Context, entries ...[]metav1.ManagedFieldsEntry) (done func()) {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout/4)
	defer end()
	done, err := v.Room.ForFields(ctx, entries...)
	if err != nil {
		return func() {}
	}
	return done
}

// unwiped is the object as it is after a write of ours, with its owners, which that write may have lost. It is nil if
// it no longer exists, or they are: then it has its outcome.
func (v *visitor) unwiped(ctx context.Context, after *metav1.PartialObjectMetadata, lost bool) *metav1.PartialObjectMetadata {
	if !lost {
		return after
	}
	restored, err := v.restore(ctx, v.item, after)
	switch {
	case err != nil:
		v.fail(reasonOwnership, err)
		return nil
	case restored == nil:
		v.end(Gone)
	}
	return restored
}

// restore puts the entries of before back on an object that has lost them and returns the object, or nil if it no
// longer exists. Only this walk still knows them, so it goes on although the walk is to stop.
func (v *visitor) restore(ctx context.Context, before, after *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	v.room.most = 0
	for try := range 2 * maxRaces {
		ownership, err := v.known()
		if err != nil {
			ownership = v.Ownership // all paths: what cannot be owned, the API server drops
		}
		if follower, err := v.follower(); follower != nil || err != nil {
			ownership.Leaving = nil // first as they were: what they are elsewhere is another question
		}
		if try >= maxRaces {
			ownership.Versions = nil // moves every entry, so that nothing has to be converted
		}
		restored, err := v.putBack(ctx, ownership, before, after)
		if err == nil && !wiped(before, restored) {
			done := v.roomAnyhow(ctx, before.ManagedFields)
			v.collector.lost(v.forced(ownership, before, errUnconvertible))
			done()
			return restored, nil
		}
		if v.backoff.pause(ctx, err) != nil {
			break
		}
		fresh, err := v.Objects.Get(ctx, v.key())
		if err == nil {
			after = fresh
		} else if v.isGone(err) {
			return nil, nil
		}
	}
	return nil, errOwnershipLost
}

// putBack gives an object its former entries beside those it was given since.
// What an apply finds without an owner it gives to "before-first-apply"; that is
// taken back, since the owners are known.
func (v *visitor) putBack(ctx context.Context, ownership Ownership, before, after *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) {
	since := slices.DeleteFunc(slices.Clone(after.ManagedFields), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == "before-first-apply"
	})
	done := v.roomAnyhow(ctx, before.ManagedFields, since)
	entries, err := ownership.Move(slices.Concat(before.ManagedFields, since))
	done()
	if err != nil {
		return nil, err
	}
	write, err := replaceEntries(after, entries)
	if err != nil {
		return nil, err
	}
	write.putsBack = true
	return v.patch(ctx, v.Objects, write)
}
