package simulation

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// clientWrites is a write of somebody else.
func (w *world) clientWrites(e Event) {
	w.etcd.mu.Lock()
	read := w.etcd.objects[e.Object].rv
	w.etcd.mu.Unlock()
	c, err := w.begin(e.Server, "a client's "+string(e.Kind))
	if err != nil {
		return
	}
	time.Sleep(e.Hold)
	_, _ = w.commit(c, e.Object, func(r *record) (*record, error) {
		switch {
		case e.Kind == Delete && r != nil:
			return deleted(e.Object, r), nil
		case r == nil && e.Kind == Update:
			return &record{}, nil
		case r == nil:
			return nil, apierrors.NewNotFound(resource, e.Object)
		case e.Kind == Put && r.rv != read:
			return nil, apierrors.NewConflict(resource, e.Object, fmt.Errorf("the object has been modified"))
		case e.Kind != Touch:
			r.data++
		}
		return r, nil
	})
}

// clientDeletesAll is a deletion of a collection: it lists, and then deletes one object after the other for as long as
// its time lasts, all of them by what its server knew at the beginning.
func (w *world) clientDeletesAll(e Event) {
	w.etcd.mu.Lock()
	names := w.etcd.names()
	w.etcd.mu.Unlock()
	c, err := w.begin(e.Server, "a client's "+string(e.Kind))
	if err != nil {
		return
	}
	for i, name := range names {
		time.Sleep(time.Until(c.decided.Add(e.Hold * time.Duration(i+1) / time.Duration(len(names)))))
		_, _ = w.commit(c, name, func(r *record) (*record, error) {
			if r == nil {
				return nil, apierrors.NewNotFound(resource, name)
			}
			return deleted(name, r), nil
		})
	}
}

// deleted is what a deletion leaves of an object: nothing, or the object with a mark if it has a finalizer. One that is
// marked already is written like any other, at the version that the request goes by.
func deleted(name string, r *record) *record {
	if !stays(name) {
		return nil
	}
	r.terminating = true
	return r
}
