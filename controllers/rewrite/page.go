package rewrite

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

const (
	// firstPage is how many objects are asked for while their size is not known.
	firstPage = 50
	// pageBytes is what a page should take, of metadata or as the JSON of whole objects. A walk holds about three of them: one
	// being written, one that waits and one being read.
	pageBytes = 1 << 20
	// maxPageBytes is where reading a page is given up, to ask for a smaller one.
	maxPageBytes = 2 * pageBytes
)

// ErrPageTooLarge says that a page has more bytes than a client wants to hold: 2 MiB of metadata, or what WholePage is
// reported, unless it has a limit of 1.
var ErrPageTooLarge = errors.New("the page is too large")

// EachMetadata hands over the metadata of all objects of a resource, of which it holds a page. If the list has to start anew, they come
// once more. The error is the context's or a *Stopped.
func (c *Client) EachMetadata(ctx context.Context, gvr schema.GroupVersionResource, clk clock.Clock, take func(*metav1.PartialObjectMetadata)) error {
	pages := newReader(newPageSize(DefaultPageSize), backoffBy(clk))
	pages.again = func() {}
	for more := true; more; more = pages.token != "" {
		var page *metav1.PartialObjectMetadataList
		err := pages.next(ctx, func(opts metav1.ListOptions) (err error) {
			page, err = c.Resource(gvr).List(ctx, opts)
			return err
		})
		if err != nil {
			return err
		}
		pages.size.came(int64(len(page.Items)), int64(page.Size()))
		pages.token = page.Continue
		for i := range page.Items {
			take(&page.Items[i])
		}
	}
	return nil
}

// pageSize is how many objects to ask for at a time, by the size of those that came. Metadata of an object may be a
// hundred bytes, or more than a megabyte.
type pageSize struct{ next, most int64 }

// newPageSize is for pages of at most so many objects.
func newPageSize(most int64) pageSize {
	return pageSize{next: min(firstPage, most), most: most}
}

// came notes a page of so many objects, and of so many bytes.
func (p *pageSize) came(n, bytes int64) {
	if n > 0 {
		each := max(1, bytes/n)
		p.next = min(max(1, pageBytes/each), p.most)
	}
}

// shrink notes a page that could not be had.
func (p *pageSize) shrink() { p.next = max(1, p.next/4) }

// slow notes a page that took too long. What follows may take as long.
func (p *pageSize) slow() {
	p.shrink()
	p.most = p.next
}

// strip drops what a walk has no use for, which is nearly all of an object that is large. It wants to know whether its write changes
// labels and annotations, and how many finalizers and owner references there are after it.
func strip(items []metav1.PartialObjectMetadata) {
	for i := range items {
		m := &items[i].ObjectMeta
		*m = metav1.ObjectMeta{
			Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion, Generation: m.Generation, ManagedFields: m.ManagedFields,
			Labels: digests(m.Labels), Annotations: digests(m.Annotations),
			Finalizers: make([]string, len(m.Finalizers)), OwnerReferences: make([]metav1.OwnerReference, len(m.OwnerReferences)),
		}
	}
}

func digests(values map[string]string) map[string]string {
	for key, value := range values {
		values[key] = digest(value)
	}
	return values
}
