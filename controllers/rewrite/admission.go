package rewrite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Admission keeps a walk from writes at which a mutating webhook or policy takes something away, as it does whenever a client writes
// the object. A write that changes nothing is asked about as a dry run before.
type Admission struct {
	// DryRun are the objects of the walk, of which nothing is stored.
	DryRun Objects
	// Always is whether each write is asked about. Otherwise the first is, and all others once one has changed an object: there are
	// webhooks and policies that no client can list.
	Always bool
	// Lost says what a write of one object would take away or change, as far as the CRD does not allow it; empty if nothing.
	Lost func(context.Context, types.NamespacedName) (why string, err error)

	changes, passed atomic.Bool // something changes objects; one was asked about, and nothing does
	first           sync.Mutex  // of those who ask about the first
}

// spared reports whether the next write may be sent. If not, the object has its outcome, or is to be looked at again.
func (v *visitor) spared(ctx context.Context) (bool, error) {
	a := v.Admission
	if a == nil || v.atStatus(v.phase == toRepair) || v.item.ResourceVersion == v.passed || !a.Always && !a.changes.Load() && a.passed.Load() {
		return true, nil
	}
	w := *v.plain()
	w.dry = true
	after, err := v.patch(ctx, a.DryRun, &w)
	if err != nil {
		return false, v.refused(ctx, a.DryRun, &w, err)
	}
	v.breaker.servedAt(v.Clock.Now())
	if takesAway(v.item, after) {
		a.changes.Store(true)
		why, err := a.Lost(ctx, v.key())
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			return false, v.refused(ctx, a.DryRun, &w, err)
		case why != "":
			v.fail(reasonFieldsLost, errors.New(why))
			return false, nil
		}
	}
	a.passed.Store(true)
	v.passed = v.item.ResourceVersion
	return true, nil
}

// Ask is the same question about one object that is no walk's. It says what an AskLoss does.
func (a *Admission) Ask(ctx context.Context, key types.NamespacedName) (why string, err error) {
	if !a.Always && !a.changes.Load() {
		a.first.Lock()
		defer a.first.Unlock()
		if a.passed.Load() {
			return "", nil
		}
	}
	if why, err = a.Lost(ctx, key); err != nil {
		return "", err
	}
	if why != "" {
		a.changes.Store(true)
	} else {
		a.passed.Store(true)
	}
	return why, nil
}

// takesAway reports whether a write may have taken something away from an object. What is not metadata may only be seen to change.
func takesAway(before, after *metav1.PartialObjectMetadata) bool {
	return before.Generation != after.Generation || lacks(after.Annotations, before.Annotations) || lacks(after.Labels, before.Labels) ||
		len(after.Finalizers) < len(before.Finalizers) || len(after.OwnerReferences) < len(before.OwnerReferences)
}

// lacks reports whether one of some keys is missing.
func lacks(values, keys map[string]string) bool {
	for key := range keys {
		if _, ok := values[key]; !ok {
			return true
		}
	}
	return false
}

// TakeRewritten hands over one object as it is, and as a write that changes nothing would leave it, as a list of JSON, when there is room
// to decode both. Nothing is written, and nothing of it may be kept.
func (c *Client) TakeRewritten(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, take func(both []byte) error) error {
	both, done, err := c.Converted().whole.hold(ctx, gvr.GroupResource(), func() ([]byte, error) {
		before, err := c.Whole(ctx, gvr, key)
		if err != nil {
			return nil, err
		}
		is := metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(before, &is); err != nil || is.ResourceVersion == "" {
			return nil, cmp.Or(err, ErrNoAnswer)
		}
		w := guardedPatch(is.ResourceVersion)
		after, err := readWhole(ctx, (&resource{client: c.DryRun(), gvr: gvr}).patch(key, w.kind, w.body))
		if err != nil {
			return nil, &DryRunError{err}
		}
		return bytes.Join([][]byte{[]byte("["), before, []byte(","), after, []byte("]")}, nil), nil
	})
	if err != nil {
		return err
	}
	defer done()
	return take(both)
}
