package rewrite

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/controllers/rewrite/throttle"
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
	v.breaker.servedAt(v.Clock.Now())
	a := v.answer(w, after)
	if a.now = v.unwiped(ctx, after, v.hasLost(ctx, w, after)); a.now != nil {
		accepted(a)
	}
	return nil
}

// answer is what an accepted write shows.
func (v *visitor) answer(w *write, after *metav1.PartialObjectMetadata) answer {
	a := answer{moved: after.ResourceVersion != v.item.ResourceVersion, now: after}
	if !a.moved || !w.guarded {
		return a
	}
	if fields := alterations(v.item, after); len(fields) > 0 {
		a.altered = true
		if v.Admission != nil {
			v.Admission.changes.Store(true)
		}
		v.collector.altered(Alteration{v.key(), fields})
	}
	return a
}

// refused decides what becomes of an object whose write was answered with an error.
func (v *visitor) refused(ctx context.Context, objects Objects, w *write, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.As(err, new(*Stopped)) {
		return err // nothing was sent
	}
	v.unsure = v.unsure || !w.repairs && !w.dry && perhapsDone(err)
	if w.perhapsRaced(err) {
		return v.raced(ctx, err)
	}
	if c, _ := classify(err); objects == v.Status && (c == forbidden || c == noRoute) {
		v.noStatus.Store(true)
		return nil // the main resource will do
	}
	return v.met(ctx, err)
}

// met decides by the class of an error, of a write or of a read.
func (v *visitor) met(ctx context.Context, err error) error {
	c, reason := classify(err)
	switch c {
	case absent:
		return v.missing(ctx, err)
	case busy:
		if errors.Is(err, ErrAnswerTooLarge) {
			return v.room.enlarge(ctx)
		}
		return v.wait(ctx, err)
	case unconverted:
		v.fail(reason, errors.New(cause(err)))
		return v.judgeConversion(ctx, v.key(), err)
	case forbidden, noRoute:
		return stopFor(err)
	case flaky:
		if v.flakes++; v.flakes <= maxFlakes {
			return v.backoff.pause(ctx, err)
		}
	case rejected, conflict, unreadable:
	}
	v.fail(reason, err)
	return nil
}

// raced reads the object again after another client may have written it first. If
// none has, the write was refused for what it is.
func (v *visitor) raced(ctx context.Context, err error) error {
	fresh, getErr := v.Objects.Get(ctx, v.key())
	if getErr != nil {
		return v.met(ctx, getErr)
	}
	if v.isMisplaced(fresh) {
		v.failed(v.misplaced(v.item, alsoThere))
		return nil
	}
	written := fresh.ResourceVersion != v.item.ResourceVersion
	if c, reason := classify(err); c != conflict && !written {
		v.fail(reason, err)
		return nil
	}
	if v.unsure {
		if fresh = v.unwiped(ctx, fresh, wiped(v.item, fresh)); fresh == nil {
			return nil
		}
	}
	return v.beginAgain(ctx, fresh, err)
}

// beginAgain goes on with an object that is another than was thought, but not for
// ever.
func (v *visitor) beginAgain(ctx context.Context, fresh *metav1.PartialObjectMetadata, err error) error {
	if err := v.unchanged(ctx); err != nil {
		return err
	}
	if v.races++; v.races > 2*maxRaces {
		v.fail(reasonConflict, err)
		return nil
	}
	written := fresh.ResourceVersion != v.item.ResourceVersion
	if v.unsure && written { // what may be our own doing counts as such
		v.found = Rewritten
	}
	v.overtaken, v.item = v.overtaken || written, fresh
	v.begin(false)
	return nil
}

// missing looks whether the object no longer exists, as the answer to a write may have said. Only a read that answers
// this of the very object is believed: it comes from etcd and passes by admission.
func (v *visitor) missing(ctx context.Context, err error) error {
	fresh, getErr := v.Objects.Get(ctx, v.key())
	switch {
	case v.isGone(getErr):
		v.end(Gone)
		return nil
	case getErr != nil:
		if c, _ := classify(getErr); c == absent {
			v.fail(reasonOther, getErr)
			return nil
		}
		return v.met(ctx, getErr)
	case v.isGone(err): // and made again since
		return v.beginAgain(ctx, fresh, err)
	case namespaceIsGone(err, v.item.Namespace):
		v.fail(reasonNamespace, errNamespaceGone)
	default:
		v.fail(reasonOther, err)
	}
	return nil
}

// errNamespaceGone fails an object that the API server lists and deletes, and does
// not let anybody write.
var errNamespaceGone = errors.New("its Namespace does not exist, so it cannot be written; delete the object (kubectl delete works), or create the Namespace again")

// isGone reports whether err says that this object is not there.
func (v *visitor) isGone(err error) bool { return IsGone(err, v.Ownership.Group, v.item.Name) }

// wait waits before a write that met a busy server, or none, is sent again. If that
// has gone on for too long while other objects got through and the object can be
// read, it is the object that fails, and not the walk.
func (v *visitor) wait(ctx context.Context, err error) error {
	spent, over := v.backoff.over()
	if !over {
		return v.backoff.pause(ctx, err)
	}
	err = fmt.Errorf("no success for %s: %w", spent.Round(time.Second), err)
	if v.breaker.served(v.Clock.Now()) {
		if _, getErr := v.Objects.Get(ctx, v.key()); getErr == nil {
			v.fail(reasonUnavailable, err)
			return nil
		}
	}
	return stopFor(fmt.Errorf("writing %s: %w", v.key(), err))
}

// endpoint is where a write is cheapest: on the status subresource, where there is
// one, the API server has less to do and fewer admission webhooks to ask. A repair
// has no effect there.
func (v *visitor) endpoint(w *write) Objects {
	if v.atStatus(w.repairs) {
		return v.Status
	}
	return v.Objects
}

// atStatus reports whether a write goes to the status subresource.
func (w *Walk) atStatus(repairs bool) bool { return w.Status != nil && !repairs && !w.noStatus.Load() }

// patch sends a write when its turn has come, and reports to the pace how it went.
func (v *visitor) patch(ctx context.Context, objects Objects, w *write) (*metav1.PartialObjectMetadata, error) {
	permit, err := v.Lane.Enter(ctx)
	if err != nil {
		return nil, err
	}
	if !w.dry && !w.putsBack {
		if err := v.stillUnchanged(ctx); err != nil {
			permit.Done(throttle.Nothing)
			return nil, err
		}
	}
	after, err := objects.Patch(ctx, v.key(), w.kind, w.body)
	permit.Done(signalOf(ctx, err))
	return after, err
}

// signalOf is what the answer to a write shows about the API server's load.
func signalOf(ctx context.Context, err error) throttle.Signal {
	if err == nil || errors.Is(err, ErrAnswerTooLarge) {
		return throttle.Served
	}
	if c, _ := classify(err); ctx.Err() == nil && (c == busy || c == flaky) {
		return throttle.Overloaded
	}
	return throttle.Nothing
}
