package rewrite

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/moult-dev/moult/policies/words"
)

// maxSaid is how much of the API server's words about one object is kept, in characters.
const maxSaid = 1000

// collector is a Result that many workers write to.
type collector struct {
	mu      sync.Mutex
	result  Result
	writers map[Manager]*Writer
}

// begin makes room for what is found.
func (c *collector) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result = Result{By: map[Outcome]int64{}, FailedBy: map[string]int64{}, LastWrites: map[string]time.Time{}}
	c.writers = map[Manager]*Writer{}
}

func (c *collector) listed(total int64, resourceVersion string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Total = total
	if c.result.ListedRV == "" {
		c.result.ListedRV = resourceVersion
	}
}

func (c *collector) add(o Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.By[o]++
}

func (c *collector) fail(f FailedObject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.By[Failed]++
	c.result.FailedBy[f.Reason]++
	f.Message = words.Clip(f.Message, maxSaid)
	at, _ := slices.BinarySearchFunc(c.result.FailedObjects, f, byKey)
	c.result.FailedObjects = slices.Insert(c.result.FailedObjects, at, f)
	c.result.FailedObjects = c.result.FailedObjects[:min(len(c.result.FailedObjects), MaxFailedObjects)]
}

// notGone notes an object that has failed, and was taken for one that was deleted.
func (c *collector) notGone(f FailedObject) {
	c.mu.Lock()
	c.result.By[Gone]--
	c.mu.Unlock()
	c.fail(f)
}

// altered notes an object whose content a write has changed.
func (c *collector) altered(a Alteration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.result.Alteration; first == nil || a.String() < first.String() {
		c.result.Alteration = &a
	}
}

// wrote notes a write by a field manager.
func (c *collector) wrote(w Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.Last.After(c.result.LastWrites[w.Manager.Version]) {
		c.result.LastWrites[w.Manager.Version] = w.Last
	}
	known, ok := c.writers[w.Manager]
	switch {
	case !ok && !c.makeRoom(w.Last):
	case !ok:
		c.writers[w.Manager] = &w
	default:
		known.Objects++
		if w.Last.After(known.Last) {
			known.Last, known.Object = w.Last, w.Object
		}
	}
}

// makeRoom drops the writer that wrote first if there are too many. It returns
// false if one that wrote at this time would be it.
func (c *collector) makeRoom(last time.Time) bool {
	if len(c.writers) < maxWriters {
		return true
	}
	first := Manager{}
	for key, w := range c.writers {
		if earliest := c.writers[first]; earliest == nil || w.Last.Before(earliest.Last) {
			first = key
		}
	}
	if !c.writers[first].Last.Before(last) {
		return false
	}
	delete(c.writers, first)
	return true
}

// lost notes what managers lose of one object.
func (c *collector) lost(losses []Loss) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range losses {
		c.result.addLoss(l)
	}
}

func (r *Result) addLoss(l Loss) {
	for i := range r.Losses {
		if known := &r.Losses[i]; known.Manager == l.Manager && known.Waits == l.Waits {
			known.Objects++
			known.Fields += l.Fields
			return
		}
	}
	if len(r.Losses) < maxLosses || l.Waits && !r.waitsFor(l.Manager.Version) {
		r.Losses = append(r.Losses, l)
	}
}

// waitsFor reports whether an entry is known to have been left at a version.
func (r *Result) waitsFor(version string) bool {
	return slices.ContainsFunc(r.Losses, func(l Loss) bool { return l.Waits && l.Manager.Version == version })
}

// snapshot is a copy that no worker writes to any more.
func (c *collector) snapshot() Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.result
	r.By, r.FailedBy = maps.Clone(r.By), maps.Clone(r.FailedBy)
	r.FailedObjects, r.LastWrites, r.Losses = slices.Clone(r.FailedObjects), maps.Clone(r.LastWrites), slices.Clone(r.Losses)
	for _, w := range c.writers {
		r.Writers = append(r.Writers, *w)
	}
	slices.SortFunc(r.Writers, latestFirst)
	return r
}
