package simulation

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// etcd holds what all API servers share. Whoever calls a method that says so holds the lock.
type etcd struct {
	mu       sync.Mutex
	revision int64 // the one counter behind every resourceVersion
	objects  map[string]record
	past     []change
	crds     []definition  // every revision of the CRD; the last one is current
	changed  chan struct{} // closed at the next revision of the CRD

	orphaned  bool  // the Namespace other is gone, its objects are not
	restores  int   // how often etcd was restored
	oldest    int64 // no list shows what is older
	compacted int64 // continue tokens up to here have expired
}

// record is an object as etcd holds it.
type record struct {
	rv      int64
	version string // that its bytes are encoded at
	content
}

// content is all else in an object's bytes.
type content struct {
	data        int // stands for what clients write
	terminating bool
}

// other is the Namespace that may go. All other objects are in the Namespace default.
const other = "team"

func namespaceOf(name string) string {
	if name == "c" || name == "e" {
		return other
	}
	return "default"
}

// keyOf is the key of an object in etcd, without what all keys begin with.
func keyOf(name string) string { return namespaceOf(name) + "/" + name }

// stays reports whether an object has a finalizer, which no client ever removes: a deletion only marks it.
func stays(name string) bool { return name == "a" || name == "d" }

// change is one write of an object; a nil record is its deletion.
type change struct {
	rv     int64
	at     time.Time
	name   string
	record *record
}

func newEtcd() *etcd {
	return &etcd{objects: map[string]record{}, changed: make(chan struct{})}
}

// get reads an object, nil if there is none. It needs the lock.
func (e *etcd) get(name string) *record {
	if r, exists := e.objects[name]; exists {
		return &r
	}
	return nil
}

// put stores an object under the next revision. It needs the lock.
func (e *etcd) put(name string, r record) record {
	e.revision++
	r.rv = e.revision
	e.objects[name] = r
	e.past = append(e.past, change{rv: r.rv, at: time.Now(), name: name, record: &r})
	return r
}

// remove deletes an object. It needs the lock.
func (e *etcd) remove(name string) {
	e.revision++
	delete(e.objects, name)
	e.past = append(e.past, change{rv: e.revision, at: time.Now(), name: name})
}

// names are those of all objects. It needs the lock.
func (e *etcd) names() []string { return slices.Sorted(maps.Keys(e.objects)) }

// revisionAt is the revision that was the newest one a while ago. It needs the lock.
func (e *etcd) revisionAt(at time.Time) int64 {
	newest := e.revision
	for _, c := range slices.Backward(e.past) {
		if !c.at.After(at) {
			break
		}
		newest = c.rv - 1
	}
	return max(newest, e.oldest)
}

// asOf are the objects as they were at a revision. It needs the lock.
func (e *etcd) asOf(revision int64) map[string]record {
	if revision >= e.revision {
		return maps.Clone(e.objects)
	}
	objects := map[string]record{}
	for _, c := range e.past {
		switch {
		case c.rv > revision:
			return objects
		case c.record == nil:
			delete(objects, c.name)
		default:
			objects[c.name] = *c.record
		}
	}
	return objects
}
