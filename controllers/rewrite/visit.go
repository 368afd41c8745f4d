package rewrite

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/moult-dev/moult/controllers/rewrite/pace"
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
	unsure    bool // a plain write was sent whose answer never came
	checked   bool // a plain write has shown whether it was stale, or that need not be shown
	stale     bool // it was
	again     bool // a check has rewritten it and asks once more
}

// visit brings one object to its outcome. The error is the end of the walk.
func (w *Walk) visit(ctx context.Context, book *tallyBook, item *metav1.PartialObjectMetadata) error {
	proved := w.provedBy(item.ResourceVersion)
	if proved && !slices.ContainsFunc(item.ManagedFields, w.Ownership.affects) {
		book.add(Current)
		return nil
	}
	v := &visitor{Walk: w, book: book, item: item, patience: w.newPatience(), checked: proved}
	for {
		done, err := v.try(ctx)
		if done || err != nil {
			w.noteWriters(book, v.item) // as last read: an earlier look may miss a writer whose entry was moved
			return err
		}
	}
}

// try writes the object once. It returns whether the object has its outcome.
func (v *visitor) try(ctx context.Context) (bool, error) {
	write, err := v.next()
	if err != nil {
		if stopped := (*Stopped)(nil); errors.As(err, &stopped) {
			return false, err
		}
		v.fail(reasonOther, err)
		return true, nil
	}
	if write == nil {
		v.book.add(Current)
		return true, nil
	}
	objects := v.endpoint(write)
	after, err := v.patch(ctx, objects, write)
	if err == nil {
		return v.wrote(ctx, write, after), nil
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	v.unsure = v.unsure || !write.repairs && perhapsDone(err)
	if write.perhapsRaced(err) {
		return v.raced(ctx, err)
	}
	c, _ := classify(err)
	if objects == v.Status && (c == forbidden || c == noRoute) {
		v.noStatus.Store(true)
		return false, nil // the main resource will do
	}
	switch c {
	case gone:
		v.book.add(Gone)
		return true, nil
	case flaky:
		if v.flakes++; v.flakes <= maxFlakes {
			return false, v.patience.pause(ctx, err)
		}
	case busy:
		return false, v.patience.sit(ctx, err)
	case forbidden, noConvert, noRoute:
		return false, stopFor(err)
	case rejected, conflict:
	}
	v.refused(err)
	return true, nil
}

// wrote notes the outcome of a write that was accepted. It returns whether it
// was the last one.
func (v *visitor) wrote(ctx context.Context, write *write, after *metav1.PartialObjectMetadata) bool {
	now := after
	if wiped(v.item, after) {
		var err error
		if now, err = v.restore(ctx, v.item, after); err != nil {
			v.fail(reasonOwnership, err)
			return true
		}
	}
	affected := now != nil && slices.ContainsFunc(now.ManagedFields, v.Ownership.affects)
	switch {
	case now == nil:
		v.book.add(Gone)
	case affected && write.repairs:
		v.fail(reasonOwnership, errNotMoved)
	case affected:
		v.checked, v.stale = true, v.outcome(after) == Rewritten
		v.item = now
		return false
	case write.repairs && !v.stale:
		v.book.add(Repaired)
	case v.Mode == Check && !write.repairs && !v.again && v.outcome(after) == Rewritten:
		v.again, v.item = true, now
		return false
	default:
		v.book.add(v.outcome(after))
	}
	return true
}

// raced reads the object again after somebody else may have written it first. If
// nobody has, the write was refused for what it is.
func (v *visitor) raced(ctx context.Context, err error) (bool, error) {
	if v.races++; v.races > 2*maxRaces {
		v.fail(reasonConflict, err)
		return true, nil
	}
	fresh, getErr := v.Objects.Get(ctx, v.key())
	if getErr != nil {
		if c, _ := classify(getErr); c != gone {
			return false, v.patience.sit(ctx, getErr)
		}
		v.book.add(Gone)
		return true, nil
	}
	written := fresh.ResourceVersion != v.item.ResourceVersion
	if c, _ := classify(err); c != conflict && !written {
		v.refused(err)
		return true, nil
	}
	v.overtaken, v.item, v.checked = v.overtaken || written, fresh, false
	v.stale = v.stale || v.again || v.unsure && written // what may be our own doing counts as such
	return false, nil
}

func (v *visitor) outcome(after *metav1.PartialObjectMetadata) Outcome {
	unmoved := v.item.ResourceVersion == after.ResourceVersion
	switch {
	case v.stale, v.again && unmoved:
		return Rewritten
	case v.again:
		return Altered
	case v.Mode == Check && v.overtaken && (unmoved || v.races > maxRaces):
		return Overtaken
	case unmoved:
		return Current
	default:
		return Rewritten
	}
}

// refused fails the object with the API server's reason.
func (v *visitor) refused(err error) {
	_, reason := classify(err)
	v.fail(reason, err)
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

// endpoint is where a write is cheapest: on the status subresource, where there is
// one, the API server has less to do and fewer admission webhooks to ask. A repair
// has no effect there.
func (v *visitor) endpoint(p *write) Objects {
	if v.Status == nil || p.repairs || v.noStatus.Load() {
		return v.Objects
	}
	return v.Status
}

// patch sends a write when its turn has come, and tells the pace how it went.
func (v *visitor) patch(ctx context.Context, objects Objects, p *write) (*metav1.PartialObjectMetadata, error) {
	permit, err := v.Lane.Enter(ctx)
	if err != nil {
		return nil, err
	}
	after, err := objects.Patch(ctx, v.key(), p.kind, p.body)
	permit.Done(signalOf(ctx, err))
	return after, err
}

// signalOf is what the answer to a write tells about the API server's load.
func signalOf(ctx context.Context, err error) pace.Signal {
	if err == nil {
		return pace.Served
	}
	if c, _ := classify(err); ctx.Err() == nil && (c == busy || c == flaky) {
		return pace.Overloaded
	}
	return pace.Nothing
}
