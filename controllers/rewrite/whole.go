package rewrite

import (
	"cmp"
	"context"
	"strings"

	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

const (
	// mostDecoded is what a page of several whole objects takes when it is decoded, in bytes.
	mostDecoded = wholeRoom / 2
	// wholeRoom is what all whole objects take that are held decoded, in bytes, unless one alone takes more. Looking at one takes as
	// much again, in a container of 256 MiB.
	wholeRoom = 64 << 20
	// addedRoom is what is added to them, such as defaults of another version. One alone adds no more.
	addedRoom = 16 << 20
	// wholeReaders and convertedReaders are how many answers are held whose decoded size is not known yet. The first are of requests
	// that reach no webhook of a tenant. An answer has 8 MiB at most, so all have 48; two that are compared are joined, in 32 for each.
	wholeReaders, convertedReaders = 2, 4
)

// ofProcess is the room of all Clients: a controller has several, and one container.
var ofProcess = newWholes()

// wholes is the room for whole objects, however many workers and CRDs ask for some. The tenant who
// writes an object decides how large it is, and decoded it may take a hundred times as much.
type wholes struct {
	readers   *semaphore.Weighted
	converted *readers
	mayHang   bool                // which of both to use
	room      *semaphore.Weighted // in bytes
	added     *semaphore.Weighted // to those that have some of room
	// unpacked is whether what objects have packed is taken out, which may take as much as there is room for.
	unpacked bool
}

func newWholes() *wholes {
	return &wholes{readers: semaphore.NewWeighted(wholeReaders), converted: newReaders(convertedReaders), room: semaphore.NewWeighted(wholeRoom), added: semaphore.NewWeighted(addedRoom)}
}

// hold returns what is read once there is room to decode it. The room is kept until done is called; who has some asks for no more.
func (w *wholes) hold(ctx context.Context, of schema.GroupResource, read func() ([]byte, error)) (raw []byte, done func(), err error) {
	leave, err := w.enter(ctx, of)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	if raw, err = read(); err != nil {
		return nil, nil, err
	}
	cost, _ := unpacking.CostOfJSON(raw)
	done, err = w.take(ctx, cost)
	return raw, done, err
}

// enter waits for a reader.
func (w *wholes) enter(ctx context.Context, of schema.GroupResource) (leave func(), err error) {
	if w.mayHang && strings.Contains(of.Group, ".") { // no CRD has a group without a dot
		return w.converted.enter(ctx, of)
	}
	if err := w.readers.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { w.readers.Release(1) }, nil
}

// take waits for room, or for all there is if what was packed in an object is unpacked, too.
func (w *wholes) take(ctx context.Context, cost int64) (done func(), err error) {
	cost = min(cost, wholeRoom)
	if w.unpacked {
		cost = wholeRoom
	}
	if err := w.room.Acquire(ctx, cost); err != nil {
		return nil, err
	}
	return func() { w.room.Release(cost) }, nil
}

// Room waits until there is room for so many bytes, decoded, and keeps it until done is called; who has some asks for no more.
func (c *Client) Room(ctx context.Context, bytes int64) (done func(), err error) {
	return c.whole.take(ctx, bytes)
}

// RoomToAdd waits until there is room to add so many bytes to an object that is held, and keeps it until done is called. Who has some asks
// for no other room.
func (c *Client) RoomToAdd(ctx context.Context, bytes int64) (done func(), err error) {
	bytes = min(bytes, addedRoom)
	if err := c.whole.added.Acquire(ctx, bytes); err != nil {
		return nil, err
	}
	return func() { c.whole.added.Release(bytes) }, nil
}

// Unpacking is the same client, for objects of any resource that have others packed in them: it hands over whole objects while nothing
// else is held.
func (c *Client) Unpacking() *Client {
	of := c.Converted()
	of.whole.unpacked = true
	return of
}

// Converted is the same client, for objects that may have a conversion webhook. A request that hangs there holds up no other client.
func (c *Client) Converted() *Client {
	whole := *c.whole
	whole.mayHang = true
	return &Client{rest: c.rest, dryRun: c.dryRun, whole: &whole}
}

// TakeWhole hands over one object with all that it holds, as JSON, when there is room to decode it. Nothing of it may be kept.
func (c *Client) TakeWhole(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, take func(raw []byte) error) error {
	raw, done, err := c.whole.hold(ctx, gvr.GroupResource(), func() ([]byte, error) { return c.Whole(ctx, gvr, key) })
	if err != nil {
		return err
	}
	defer done()
	if err := fits(raw); err != nil {
		return err
	}
	return take(raw)
}

// TakePage hands over one page, as WholePage reads it, when there is room to decode it. Nothing of it may be kept.
func (c *Client) TakePage(ctx context.Context, gvr schema.GroupVersionResource, opts metav1.ListOptions, most int64, take func(page *unstructured.UnstructuredList)) error {
	raw, done, err := c.whole.hold(ctx, gvr.GroupResource(), func() ([]byte, error) { return c.wholeJSON(ctx, gvr, opts, most) })
	if err != nil {
		return err
	}
	defer done()
	page, failed, err := decodePage(raw)
	if err != nil {
		return err
	}
	if failed.All > 0 {
		return failed
	}
	take(page)
	return nil
}

// EachWhole hands over all objects of a resource with all that they hold, a page at a time. It returns the
// resourceVersion of the first page: whatever was written before it has been seen. If the list has to start anew, again
// is called, and they all come once more. A page comes when there is room for it, with how many objects are left as far as is
// known, and nothing of it may be kept. The error is the context's, that of take, a *Stopped, or an *Undecoded after all others came.
func (c *Client) EachWhole(ctx context.Context, gvr schema.GroupVersionResource, clk clock.Clock, again func(), take func(page []map[string]any, left int64) error) (listedRV string, err error) {
	pages := newReader(newPageSize(DefaultPageSize), backoffBy(clk))
	undecoded := &Undecoded{}
	pages.again = func() { listedRV = ""; *undecoded = Undecoded{}; again() }
	for more := true; more; more = pages.token != "" {
		rv, failed, err := c.wholePage(ctx, gvr, pages, take)
		if err != nil {
			return "", err
		}
		undecoded.addAll(failed)
		listedRV = cmp.Or(listedRV, rv)
	}
	return listedRV, undecoded.orNil()
}

// wholePage hands over the objects of the next page.
func (c *Client) wholePage(ctx context.Context, gvr schema.GroupVersionResource, pages *reader, take func(page []map[string]any, left int64) error) (rv string, failed *Undecoded, err error) {
	var raw []byte
	var done func()
	err = pages.next(ctx, func(opts metav1.ListOptions) (err error) {
		raw, done, err = c.whole.hold(ctx, gvr.GroupResource(), func() ([]byte, error) { return c.wholeJSON(ctx, gvr, opts, maxPageBytes) })
		return err
	})
	if err != nil {
		return "", nil, err
	}
	defer done()
	page, failed, err := decodePage(raw)
	if err == nil && page.GetResourceVersion() == "" {
		err = ErrNoAnswer
	}
	if err != nil {
		return "", nil, &Stopped{Unavailable, err}
	}
	pages.size.came(int64(len(page.Items)+failed.All), int64(len(raw)))
	objects := words.Of(page.Items, func(o unstructured.Unstructured) map[string]any { return o.Object })
	pages.token = page.GetContinue()
	return page.GetResourceVersion(), failed, take(objects, ptr.Deref(page.GetRemainingItemCount(), 0))
}
