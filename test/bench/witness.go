package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// witness watches etcd while a contender is at work: the objects of one CRD and the CRD itself, in the order in which
// they are written. So it knows how many objects were stored at another version at the very revision that took that
// version out of storedVersions, whatever the contender believes. Its methods may be called concurrently.
type witness struct {
	set    *objectSet
	target string
	cancel context.CancelFunc

	mu  sync.Mutex
	saw sighting
	// stale are the keys of the objects that are not stored at the target version.
	stale map[string]struct{}
	// changed is closed and replaced whenever there may be something new to wait for.
	changed chan struct{}
	err     error
}

// sighting is what a witness has seen so far. Times are those at which etcd's events arrived, within milliseconds.
type sighting struct {
	// Stale counts the objects that are not stored at the target version now.
	Stale int
	// Writes counts all writes of objects, Rewritten those that brought one to the target version.
	Writes, Rewritten int
	// First and Last are the times of the first and the last such write.
	First, Last time.Time
	// Done is when the last stale object was first gone; zero before.
	Done time.Time
	// Trimmed is when storedVersions first named the target version alone while that was the storage version, and
	// StaleAtTrim how many objects were not stored at it then; StaleLater is the most there have been since.
	Trimmed                 time.Time
	StaleAtTrim, StaleLater int
	// Reasons are those that Moult's condition has had, each with the time when it first did.
	Reasons map[string]time.Time
}

// watch begins at the present state of etcd. The target version need not be the storage version yet.
func (s *stage) watch(ctx context.Context, set *objectSet, target string) (*witness, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &witness{set: set, target: target, cancel: cancel, stale: map[string]struct{}{}, changed: make(chan struct{})}
	start := set.prefix() + namespace + "/"
	now, err := s.etcd.Get(ctx, start, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		cancel()
		return nil, fmt.Errorf("read %s from etcd: %w", start, err)
	}
	revision := now.Header.Revision
	for from, end := start, clientv3.GetPrefixRangeEnd(start); from != ""; {
		page, err := s.etcd.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(500), clientv3.WithRev(revision))
		if err != nil {
			cancel()
			return nil, fmt.Errorf("read %s from etcd: %w", start, err)
		}
		from = ""
		for _, kv := range page.Kvs {
			if !w.current(kv.Value) {
				w.stale[string(kv.Key)] = struct{}{}
			}
			if page.More {
				from = string(kv.Key) + "\x00"
			}
		}
	}
	w.saw.Stale, w.saw.Reasons = len(w.stale), map[string]time.Time{}
	// One watch of everything, because only within one watch are events in the order of their writes.
	go w.follow(ctx, s.etcd.Watch(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithRev(revision+1)))
	return w, nil
}

// current reports whether an object is stored at the target version; stored JSON has the apiVersion first.
func (w *witness) current(value []byte) bool {
	return bytes.HasPrefix(value, fmt.Appendf(nil, `{"apiVersion":"%s/%s",`, w.set.gr.Group, w.target))
}

func (w *witness) follow(ctx context.Context, watch clientv3.WatchChan) {
	for answer := range watch {
		if err := answer.Err(); err != nil && ctx.Err() == nil {
			w.update(func() { w.err = fmt.Errorf("the watch of etcd broke off: %w", err) })
			return
		}
		for _, event := range answer.Events {
			switch key := string(event.Kv.Key); {
			case key == w.set.crdKey():
				w.crdWritten(event)
			case w.set.holds(key):
				w.objectWritten(event)
			}
		}
	}
}

func (w *witness) objectWritten(event *clientv3.Event) {
	key := string(event.Kv.Key)
	w.update(func() {
		_, was := w.stale[key]
		switch {
		case event.Type == clientv3.EventTypeDelete:
			delete(w.stale, key)
		case w.current(event.Kv.Value):
			w.saw.Writes++
			delete(w.stale, key)
			if was {
				w.rewritten()
			}
		default:
			w.saw.Writes++
			w.stale[key] = struct{}{}
		}
		w.saw.Stale = len(w.stale)
		if !w.saw.Trimmed.IsZero() {
			w.saw.StaleLater = max(w.saw.StaleLater, len(w.stale))
		}
	})
}

func (w *witness) rewritten() {
	w.saw.Last = time.Now()
	w.saw.Rewritten++
	if w.saw.First.IsZero() {
		w.saw.First = w.saw.Last
	}
	if len(w.stale) == 0 && w.saw.Done.IsZero() {
		w.saw.Done = w.saw.Last
	}
}

func (w *witness) crdWritten(event *clientv3.Event) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(event.Kv.Value, &crd); err != nil {
		w.update(func() { w.err = fmt.Errorf("%s in etcd: %w", w.set.crdKey(), err) })
		return
	}
	if c := conditionOf(&crd); c != nil {
		w.update(func() {
			if _, known := w.saw.Reasons[c.Reason]; !known {
				w.saw.Reasons = maps.Clone(w.saw.Reasons)
				w.saw.Reasons[c.Reason] = time.Now()
			}
		})
	}
	if storageVersion(&crd) != w.target || !slices.Equal(crd.Status.StoredVersions, []string{w.target}) {
		return
	}
	w.update(func() {
		if w.saw.Trimmed.IsZero() {
			w.saw.Trimmed, w.saw.StaleAtTrim, w.saw.StaleLater = time.Now(), len(w.stale), len(w.stale)
		}
	})
}

func (w *witness) update(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *witness) sees() sighting {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.saw
}

// until waits for something to be seen. Its error tells what has been seen when that does not happen in time.
func (w *witness) until(ctx context.Context, patience time.Duration, what string, seen func(sighting) bool) (sighting, error) {
	timeout := time.After(patience)
	for {
		w.mu.Lock()
		saw, changed, err := w.saw, w.changed, w.err
		w.mu.Unlock()
		if err != nil || seen(saw) {
			return saw, err
		}
		select {
		case <-changed:
		case <-timeout:
			return saw, fmt.Errorf("%s: not after %s; %d objects are stale, %d were rewritten, trimmed: %v",
				what, patience, saw.Stale, saw.Rewritten, !saw.Trimmed.IsZero())
		case <-ctx.Done():
			return saw, context.Cause(ctx)
		}
	}
}

func storageVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

// holds reports whether a key of etcd is one of the objects to be migrated. A contender that needs some object of the
// resource to change has one in a namespace of its own.
func (s *objectSet) holds(key string) bool { return strings.HasPrefix(key, s.prefix()+namespace+"/") }
