package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/moult-dev/moult/policies/snapshot"
)

// takeObjects looks through the metadata of all objects of a CRD; nil if that cannot be done.
func (t *taker) takeObjects(ctx context.Context, crd seen) *snapshot.Objects {
	words := "the objects of " + crd.Name
	if t.opts.NoObjects {
		t.leaveOut(snapshot.ObjectsOfCRD, crd.Name, words+" were left out of the snapshot on purpose")
		return nil
	}
	if len(crd.readable) == 0 {
		t.leaveOut(snapshot.ObjectsOfCRD, crd.Name, words+" could not be read: no version of it is served")
		return nil
	}
	var failure error
	for _, version := range crd.readable {
		count := t.newCount(crd)
		err := t.walk(ctx, schema.GroupVersionResource{Group: crd.group, Version: version, Resource: crd.plural}, count)
		if err == nil {
			return count.objects()
		}
		if failure == nil {
			failure = err
		}
		if apierrors.IsForbidden(err) || ctx.Err() != nil {
			break // no other version would be better; where one object cannot be converted to a version, another may be
		}
	}
	t.miss(snapshot.ObjectsOfCRD, crd.Name, words, allow(crd.group, crd.plural, "list"), failure)
	return nil
}

// walk counts all objects, a page at a time.
func (t *taker) walk(ctx context.Context, resource schema.GroupVersionResource, count *count) error {
	return t.pages(ctx, metav1.ListOptions{Limit: t.opts.PageSize}, count.reset, func(ctx context.Context, opts metav1.ListOptions) (string, error) {
		page, err := t.objects.Resource(resource).List(ctx, opts)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			count.add(&page.Items[i])
		}
		total := count.n
		if page.RemainingItemCount != nil {
			total += *page.RemainingItemCount
		}
		t.opts.Tell(Progress{CRD: count.crd.Name, Done: count.n, Total: total})
		return page.Continue, nil
	})
}

// stuckAfter is how long a deletion may take without being remarkable.
const stuckAfter = 5 * time.Minute

// stuckExample is what is reported of an object that is stuck.
func stuckExample(item *metav1.PartialObjectMetadata) string {
	return fmt.Sprintf("%s since %s", nameOf(item), item.DeletionTimestamp.UTC().Format(time.RFC3339))
}

func nameOf(item *metav1.PartialObjectMetadata) string { return cache.MetaObjectToName(item).String() }

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
	writers map[snapshot.Writer]*snapshot.Writer // by a Writer that has its first four fields only
	stuck   snapshot.Stuck
}

func (t *taker) newCount(crd seen) *count {
	c := &count{crd: crd, now: t.TakenAt, noNames: t.opts.NoNames}
	c.reset()
	return c
}

func (c *count) reset() {
	c.n, c.ownedAt, c.writers, c.stuck = 0, map[string]int64{}, map[snapshot.Writer]*snapshot.Writer{}, snapshot.Stuck{}
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
		w = new(who)
		c.writers[who] = w
	}
	w.Objects++
	if at == nil || at.Time.Before(w.Last) {
		return
	}
	if w.Last = at.UTC(); w.Last.After(c.now) {
		w.Last = c.now // anybody may write any time into managedFields
	}
	if !c.noNames {
		w.Example = name
	}
}

func (c *count) objects() *snapshot.Objects {
	o := &snapshot.Objects{Count: c.n, OwnedAt: c.ownedAt}
	for _, who := range slices.SortedFunc(maps.Keys(c.writers), byName) {
		o.Writers = append(o.Writers, *c.writers[who])
	}
	if c.stuck.Count > 0 {
		o.Stuck = &c.stuck
	}
	return o
}

func byName(a, b snapshot.Writer) int {
	return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Subresource, b.Subresource))
}
