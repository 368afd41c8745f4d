package rewrite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/moult-dev/moult/controllers/rewrite/fieldownership"
)

// Follower finds what sets of fields of one object, owned at one apiVersion, are
// at another; see package fieldownership.
type Follower interface {
	Follow(ctx context.Context, key types.NamespacedName, from, to string, owned []*fieldpath.Set) ([]fieldownership.Followed, error)
}

// fate is what becomes of one entry of managedFields.
type fate struct {
	fields *fieldpath.Set // what it owns at the storage version
	waits  bool           // it stays as it is, since it would lose something
}

// fates are those of the entries that have been looked at, by keyOf.
type fates map[string]fate

// keyOf distinguishes entries of one object.
func keyOf(e metav1.ManagedFieldsEntry) string {
	return strings.Join([]string{e.Manager, string(e.Operation), e.Subresource, e.APIVersion, e.FieldsV1.GetRawString()}, "\x00")
}

// errVersionGone is why entries at a version that has left the CRD lose what they lose.
var errVersionGone = errors.New("the version has left the CRD, so nothing can be converted from it any more")

// following is the Follower, nil where there is none.
func (w *Walk) following(ctx context.Context) (Follower, error) {
	if w.Follower == nil {
		return nil, nil
	}
	follower, err := w.Follower(ctx)
	if err != nil {
		return nil, &Stopped{Unavailable, err}
	}
	return follower, nil
}

// isEnd reports whether an error is the end of the walk, and not that of an object.
func isEnd(err error) bool {
	return errors.As(err, new(*Stopped)) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// move is the entries of the object with all at the storage version that have to
// be and may be. It remembers which have to stay, and what all that costs.
func (v *visitor) move(ctx context.Context) ([]metav1.ManagedFieldsEntry, error) {
	done, err := v.Room.ForFields(ctx, v.item.ManagedFields)
	if err != nil {
		return nil, err
	}
	defer done()
	ownership, err := v.known()
	if err != nil {
		return nil, err
	}
	known := fates{}
	v.losses, v.held = v.forced(ownership, v.item, errVersionGone), map[string]bool{}
	for _, version := range ownership.Leaving {
		if err := v.judge(ctx, ownership, version, known); err != nil {
			return nil, err
		}
	}
	return ownership.move(v.item.ManagedFields, known)
}

// judge finds the fates of the entries at one version.
func (v *visitor) judge(ctx context.Context, o Ownership, version string, known fates) error {
	follower, err := v.follower()
	if follower == nil || err != nil {
		return err
	}
	var entries []metav1.ManagedFieldsEntry
	var owned []*fieldpath.Set
	for _, entry := range v.item.ManagedFields {
		if at, _ := o.version(entry); at != version || !o.affects(entry) {
			continue
		}
		fields, err := v.toFollow(o, entry)
		if err != nil {
			return err
		}
		entries, owned = append(entries, entry), append(owned, fields)
	}
	if len(entries) == 0 {
		return nil
	}
	followed, err := v.follow(ctx, follower, o.Group+"/"+version, o.Group+"/"+o.StorageVersion, owned)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		fate := fate{fields: followed[i].Fields, waits: followed[i].Why != nil && !slices.Contains(o.MayLose, version)}
		known[keyOf(entry)], v.held[keyOf(entry)] = fate, fate.waits
		if followed[i].Why != nil {
			v.losses = append(v.losses, v.loss(o, entry, followed[i].Lost, followed[i].Why, fate.waits))
		}
	}
	return nil
}

// toFollow are the fields of an entry that may not be lost. A field that the storage version has not no longer exists
// without a webhook, and needs no owner.
func (v *visitor) toFollow(o Ownership, entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	if v.Converts {
		return DecodeFields(entry)
	}
	return o.owned(entry)
}

// follow asks the follower, again and again if need be. What cannot be read is lost, or waits.
func (v *visitor) follow(ctx context.Context, f Follower, from, to string, owned []*fieldpath.Set) ([]fieldownership.Followed, error) {
	for {
		followed, err := f.Follow(ctx, v.key(), from, to, owned)
		if err == nil || ctx.Err() != nil {
			return followed, ctx.Err()
		}
		c, _ := classify(err)
		if c == flaky {
			v.flakes++
		}
		if c == busy || c == flaky && v.flakes <= maxFlakes {
			if err := v.backoff.wait(ctx, err); err != nil {
				return nil, err
			}
			continue
		}
		return fieldownership.None(owned, fmt.Errorf("reading the object: %w", err)), nil
	}
}

// forced are the losses of entries that are moved whatever it costs, because any
// other write would make the API server forget all of them. Only behind a webhook
// is a field that the schema has not more than a name.
func (v *visitor) forced(o Ownership, item *metav1.PartialObjectMetadata, why error) (losses []Loss) {
	if !v.Converts {
		return nil
	}
	for _, entry := range item.ManagedFields {
		if !o.lost(entry) {
			continue
		}
		all, err := DecodeFields(entry)
		kept, err2 := o.owned(entry)
		if err != nil || err2 != nil {
			continue // nothing is moved that cannot be read
		}
		if dropped := all.Difference(kept); !dropped.Empty() {
			losses = append(losses, v.loss(o, entry, dropped, why, false))
		}
	}
	return losses
}
