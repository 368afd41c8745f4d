package inspect

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/policies/snapshot"
)

const (
	// maxWriters and maxExamples bound what is kept of a CRD's objects.
	maxWriters  = 100
	maxExamples = 5
)

// count is what is known of the objects that have been seen.
type count struct {
	crd     seen
	now     time.Time
	noNames bool

	n       int64
	ownedAt map[string]int64
	writers map[snapshot.Writer]*wrote // by a Writer that has its first four fields only
	stuck   snapshot.Stuck
}

type wrote struct {
	objects int64
	last    time.Time
	example string
}

func (t *taker) newCount(crd seen) *count {
	c := &count{crd: crd, now: t.TakenAt, noNames: t.opts.NoNames}
	c.reset()
	return c
}

func (c *count) reset() {
	c.n, c.ownedAt, c.writers, c.stuck = 0, map[string]int64{}, map[snapshot.Writer]*wrote{}, snapshot.Stuck{}
}

// add looks at one object's metadata.
func (c *count) add(item *metav1.PartialObjectMetadata) {
	c.n++
	named := map[string]bool{}
	for _, entry := range item.ManagedFields {
		group, version, _ := strings.Cut(entry.APIVersion, "/")
		if group != c.crd.group || version == c.crd.StorageVersion() {
			continue
		}
		named[version] = true
		c.wrote(snapshot.Writer{Version: version, Manager: entry.Manager, Operation: string(entry.Operation), Subresource: entry.Subresource}, entry.Time, nameOf(item))
	}
	for version := range named {
		c.ownedAt[version]++
	}
	if item.DeletionTimestamp != nil && c.now.Sub(item.DeletionTimestamp.Time) > stuckAfter {
		if c.stuck.Count++; len(c.stuck.Examples) < maxExamples && !c.noNames {
			c.stuck.Examples = append(c.stuck.Examples, stuckExample(item))
		}
	}
}

// wrote notes that a manager has an entry on one more object.
func (c *count) wrote(who snapshot.Writer, at *metav1.Time, name string) {
	w, known := c.writers[who]
	if !known {
		if len(c.writers) == maxWriters {
			return // ownedAt counts on
		}
		w = &wrote{}
		c.writers[who] = w
	}
	w.objects++
	if at == nil || at.Time.Before(w.last) {
		return
	}
	if w.last = at.UTC(); w.last.After(c.now) {
		w.last = c.now // anybody may write any time into managedFields
	}
	if !c.noNames {
		w.example = name
	}
}

func (c *count) objects() *snapshot.Objects {
	o := &snapshot.Objects{Count: c.n, OwnedAt: c.ownedAt}
	for _, who := range slices.SortedFunc(maps.Keys(c.writers), byName) {
		w := c.writers[who]
		who.Objects, who.Last, who.Example = w.objects, w.last, w.example
		o.Writers = append(o.Writers, who)
	}
	if c.stuck.Count > 0 {
		o.Stuck = &c.stuck
	}
	return o
}

func byName(a, b snapshot.Writer) int {
	return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Subresource, b.Subresource))
}
