package rewrite

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/controllers/rewrite/pace"
)

const (
	// maxFlakes is how often an error that may be this object's own is retried.
	maxFlakes = 2
	// maxRaces is how often a lost race is run again with a fresh read before
	// the object gets the write that cannot lose one.
	maxRaces = 5
)

// write sends a write once and has accepted go on with the answer. If the answer is
// an error, the object has its outcome, or is to be written again. The error that
// is returned is the end of the walk.
func (v *visitor) write(ctx context.Context, w *write, accepted func(answer)) error {
	objects := v.endpoint(w)
	after, err := v.patch(ctx, objects, w)
	if err != nil {
		return v.refused(ctx, objects, w, err)
	}
	moved := after.ResourceVersion != v.item.ResourceVersion
	if now := v.unwiped(ctx, after); now != nil {
		accepted(answer{moved, now})
	}
	return nil
}

// refused decides what becomes of an object whose write was answered with an error.
func (v *visitor) refused(ctx context.Context, objects Objects, w *write, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	v.unsure = v.unsure || !w.repairs && perhapsDone(err)
	if w.perhapsRaced(err) {
		return v.raced(ctx, err)
	}
	c, reason := classify(err)
	if objects == v.Status && (c == forbidden || c == noRoute) {
		v.noStatus.Store(true)
		return nil // the main resource will do
	}
	switch c {
	case gone:
		v.end(Gone)
		return nil
	case flaky:
		if v.flakes++; v.flakes <= maxFlakes {
			return v.patience.pause(ctx, err)
		}
	case busy:
		return v.patience.sit(ctx, err)
	case forbidden, noConvert, noRoute:
		return stopFor(err)
	case rejected, conflict:
	}
	v.fail(reason, err)
	return nil
}

// raced reads the object again after another client may have written it first. If
// none has, the write was refused for what it is.
func (v *visitor) raced(ctx context.Context, err error) error {
	if v.races++; v.races > 2*maxRaces {
		v.fail(reasonConflict, err)
		return nil
	}
	fresh, getErr := v.Objects.Get(ctx, v.key())
	if getErr != nil {
		if c, _ := classify(getErr); c != gone {
			return v.patience.sit(ctx, getErr)
		}
		v.end(Gone)
		return nil
	}
	written := fresh.ResourceVersion != v.item.ResourceVersion
	if c, reason := classify(err); c != conflict && !written {
		v.fail(reason, err)
		return nil
	}
	if v.unsure {
		if fresh = v.unwiped(ctx, fresh); fresh == nil {
			return nil
		}
	}
	if v.unsure && written { // what may be our own doing counts as such
		v.found = Rewritten
	}
	v.overtaken, v.item = v.overtaken || written, fresh
	v.begin(false)
	return nil
}

// endpoint is where a write is cheapest: on the status subresource, where there is
// one, the API server has less to do and fewer admission webhooks to ask. A repair
// has no effect there.
func (v *visitor) endpoint(w *write) Objects {
	if v.Status == nil || w.repairs || v.noStatus.Load() {
		return v.Objects
	}
	return v.Status
}

// patch sends a write when its turn has come, and tells the pace how it went.
func (v *visitor) patch(ctx context.Context, objects Objects, w *write) (*metav1.PartialObjectMetadata, error) {
	permit, err := v.Lane.Enter(ctx)
	if err != nil {
		return nil, err
	}
	after, err := objects.Patch(ctx, v.key(), w.kind, w.body)
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
