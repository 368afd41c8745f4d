package rewrite

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

const (
	// maxFlakes is how often an error that may be this object's own is retried.
	maxFlakes = 2
	// maxRaces is how often a lost race is run again with a fresh read before
	// the object gets the write that cannot lose one.
	maxRaces = 5
)

// visitor brings one object to its outcome.
type visitor struct {
	*Walk
	book *tallyBook
	item *metav1.PartialObjectMetadata // as last read

	patience  *patience
	flakes    int
	races     int
	overtaken bool // written by somebody else since it was listed
}

// visit brings one object to its outcome. The error is the end of the walk.
func (w *Walk) visit(ctx context.Context, book *tallyBook, item *metav1.PartialObjectMetadata) error {
	w.noteWriters(book, item)
	if w.provedBy(item.ResourceVersion) && !slices.ContainsFunc(item.ManagedFields, w.Ownership.affects) {
		book.add(Current)
		return nil
	}
	v := &visitor{Walk: w, book: book, item: item, patience: w.newPatience()}
	for {
		done, err := v.try(ctx)
		if done || err != nil {
			return err
		}
	}
}

// try writes the object once. It returns whether the object has its outcome.
func (v *visitor) try(ctx context.Context) (bool, error) {
	write, err := v.writeFor(v.item, v.races)
	if err != nil {
		v.fail(reasonOther, err)
		return true, nil
	}
	if write == nil {
		v.book.add(Current)
		return true, nil
	}
	after, err := v.patch(ctx, v.key(), write)
	if err == nil {
		return true, v.wrote(ctx, write, after)
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	c, reason := classify(err)
	if write.lostRace(err) {
		c, reason = conflict, reasonConflict
	}
	switch c {
	case gone:
		v.book.add(Gone)
		return true, nil
	case conflict:
		return v.raced(ctx, reason, err)
	case flaky:
		if v.flakes++; v.flakes <= maxFlakes {
			return false, v.patience.pause(ctx, err)
		}
		v.fail(reason, err)
		return true, nil
	case busy:
		return false, v.patience.sit(ctx, err)
	case forbidden, noConvert, noRoute:
		return false, stopFor(err)
	case rejected:
	}
	v.fail(reason, err)
	return true, nil
}

// wrote notes the outcome of a write that was accepted.
func (v *visitor) wrote(ctx context.Context, write *write, after *metav1.PartialObjectMetadata) error {
	if wiped(v.item, after) {
		if err := v.restore(ctx, v.item, after); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			v.fail(reasonOwnership, err)
			return nil
		}
	}
	if write.repairs {
		v.book.add(Repaired)
		return nil
	}
	v.book.add(v.outcome(after))
	return nil
}

// raced reads the object again after somebody else wrote it first.
func (v *visitor) raced(ctx context.Context, reason string, err error) (bool, error) {
	if v.races++; v.races > 2*maxRaces {
		v.fail(reason, err)
		return true, nil
	}
	fresh, err := v.Objects.Get(ctx, v.key())
	if err == nil {
		v.overtaken = v.overtaken || fresh.ResourceVersion != v.item.ResourceVersion
		v.item = fresh
		return false, nil
	}
	if c, _ := classify(err); c == gone {
		v.book.add(Gone)
		return true, nil
	}
	return false, v.patience.sit(ctx, err)
}

func (v *visitor) outcome(after *metav1.PartialObjectMetadata) Outcome {
	unmoved := v.item.ResourceVersion == after.ResourceVersion
	switch {
	case v.Mode == Check && v.overtaken && (unmoved || v.races > maxRaces):
		return Overtaken
	case unmoved:
		return Current
	default:
		return Rewritten
	}
}

func (v *visitor) fail(reason string, err error) {
	v.book.fail(Failure{NamespacedName: v.key(), Reason: reason, Message: err.Error()})
}

func (v *visitor) key() types.NamespacedName {
	return types.NamespacedName{Namespace: v.item.Namespace, Name: v.item.Name}
}

// provedBy tells whether an object's resourceVersion alone proves it.
func (w *Walk) provedBy(rv string) bool {
	if w.Mode != Check || w.ProvedAfter == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(rv, w.ProvedAfter)
	return err == nil && order > 0
}

func (w *Walk) patch(ctx context.Context, key types.NamespacedName, p *write) (*metav1.PartialObjectMetadata, error) {
	if w.Budget != nil {
		if err := w.Budget.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer w.Budget.Release(1)
	}
	return w.Objects.Patch(ctx, key, p.kind, p.body)
}
