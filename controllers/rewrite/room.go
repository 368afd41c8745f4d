package rewrite

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// pagesRoom is what pages take: one that is read, and those whose objects have no outcome yet.
	pagesRoom = 32 << 20
	// visitsRoom is what the objects take that are written: as they were, and the answers. Large ones, of more than a quarter of it, have
	// as much again, and one that takes more is held alone there: 17 MiB, with metadata of 1.5. So both take 25 MiB at most.
	visitsRoom = 8 << 20
	// fieldsRoom is what the managedFields take that are decoded.
	fieldsRoom = 16 << 20
	// schemasRoom is what the schemas of CRDs take that walks judge objects by, and as much again what those of small CRDs take.
	schemasRoom = 64 << 20

	// SchemaOf is how many times as much as its bytes a CRD's schemas take, rather too many: 62 for 25,000 fields when a walk begins.
	SchemaOf = 75
	// decoded is how many times as much as its bytes metadata takes at most, read and decoded: a hundred thousand labels do.
	decoded = 9
	// readingRoom is what a page takes while it is read.
	readingRoom = maxPageBytes * decoded
	// growth is by how much an answer may be longer than what was listed, in bytes.
	growth = 8 << 10
)

// Room is what the walks of a process hold of metadata at a time, in bytes, however many CRDs and workers there are. The tenant who
// writes an object decides how large its metadata is. What is larger than all the room is held alone. A walk asks for schemas first, then
// for pages, then for the visit of an object, then for its fields, and for no more of what it has some of. So no two wait for each other.
type Room struct {
	schemas, small, pages, fields *semaphore.Weighted

	waiting       [2]atomic.Int64 // walks that wait for schemas, and for small ones
	visits, large *shares
	others        visits // of objects that no walk visits
}

// visits is the room that one walk has for visits.
type visits struct{ small, large *share }

func (r *Room) newVisits() visits { return visits{r.visits.share(), r.large.share()} }

// NewRoom is for all walks of a process.
func NewRoom() *Room {
	r := &Room{
		schemas: semaphore.NewWeighted(schemasRoom), small: semaphore.NewWeighted(schemasRoom), pages: semaphore.NewWeighted(pagesRoom),
		fields: semaphore.NewWeighted(fieldsRoom), visits: newShares(visitsRoom), large: newShares(visitsRoom),
	}
	r.others = r.newVisits()
	return r
}

// ForSchemas waits for the room that the schemas of a CRD take until leave is called, by their size in bytes. Small ones have a room of
// their own, since a walk over a large CRD may take hours. They wait for one another, too: walks take turns, a page each, so as many may
// be under way as there are CRDs. The error is the context's.
func (r *Room) ForSchemas(ctx context.Context, size int) (leave func(), err error) {
	bytes, room, waiting := r.forSchemas(size)
	waiting.Add(1)
	defer waiting.Add(-1)
	if err := room.Acquire(ctx, bytes); err != nil {
		return nil, err
	}
	return func() { room.Release(bytes) }, nil
}

// Wanted reports whether somebody waits for the room that schemas of a size are in.
func (r *Room) Wanted(size int) bool {
	_, _, waiting := r.forSchemas(size)
	return waiting.Load() > 0
}

func (r *Room) forSchemas(size int) (bytes int64, room *semaphore.Weighted, waiting *atomic.Int64) {
	if bytes = min(int64(size)*SchemaOf, schemasRoom); bytes <= schemasRoom/8 {
		return bytes, r.small, &r.waiting[1]
	}
	return bytes, r.schemas, &r.waiting[0]
}

// held is the room that the pages of one walk have.
type held struct {
	room  *semaphore.Weighted
	mu    sync.Mutex
	bytes int64
}

func (h *held) take(ctx context.Context, bytes int64) error {
	if err := h.room.Acquire(ctx, bytes); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes += bytes
	return nil
}

func (h *held) give(bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes -= bytes
	h.room.Release(bytes)
}

// giveAll is for a walk that ends with pages it has not dealt with.
func (h *held) giveAll() { h.give(h.bytes) }

// page are the objects of a page as a walk keeps them. Its room is given back when all have their outcome.
type page struct {
	items  []metav1.PartialObjectMetadata
	sizes  []int64 // as they were listed
	remain atomic.Int64
	bytes  int64

	resourceVersion string         // of the list
	strays          map[int]string // why an object of the page fails, by its place
}

// listed is one object of a page.
type listed struct {
	*metav1.PartialObjectMetadata

	size  int64
	page  *page
	stray string // why it fails whatever it is met as; empty if it does not
}

// keep takes from a page that was read what a walk needs, and gives back the room for the rest.
func (w *Walk) keep(list *metav1.PartialObjectMetadataList, strays map[int]string) *page {
	p := &page{items: list.Items, sizes: make([]int64, len(list.Items)), resourceVersion: list.ResourceVersion, strays: strays}
	for i := range p.items {
		p.sizes[i] = int64(p.items[i].Size())
	}
	strip(p.items)
	for i := range p.items {
		p.bytes += takes(&p.items[i].ObjectMeta)
	}
	p.bytes = min(p.bytes, readingRoom)
	p.remain.Store(int64(len(p.items)))
	if len(p.items) == 0 {
		p.bytes = 0
	}
	w.held.give(readingRoom - p.bytes)
	return p
}

// dealtWith is called once for each object of a page.
func (w *Walk) dealtWith(p *page) {
	if p.remain.Add(-1) == 0 {
		w.held.give(p.bytes)
	}
}

// takes is how many bytes of memory stripped metadata takes, rather too many.
func takes(m *metav1.ObjectMeta) int64 {
	const object, label, entry, finalizer, owner = 500, 64, 200, 16, 128
	n := object + label*(len(m.Labels)+len(m.Annotations)) + finalizer*len(m.Finalizers) + owner*len(m.OwnerReferences) + len(m.Namespace) + len(m.Name)
	for _, values := range []map[string]string{m.Labels, m.Annotations} {
		for key, value := range values {
			n += len(key) + len(value)
		}
	}
	for i := range m.ManagedFields {
		e := &m.ManagedFields[i]
		n += entry + len(e.Manager) + len(e.APIVersion) + len(e.Subresource) + len(e.FieldsV1.GetRawString())
	}
	return int64(n)
}

// answers is the room that a visit has, and how long an answer it may read by that.
type answers struct {
	visits
	held        *share
	bytes, most int64
}

// ErrAnswerTooLarge says that an object has become larger than a visit has room for.
var ErrAnswerTooLarge = errors.New("the object is larger than it was when it was listed")

// makeRoom waits for the room to visit an object that was of this size.
func (a *answers) makeRoom(ctx context.Context, size int64) error {
	most := size + size/4 + growth
	if bytes := most * decoded; bytes <= visitsRoom/4 {
		return a.take(ctx, a.small, bytes, most)
	}
	return a.take(ctx, a.large, min(most*decoded, visitsRoom), most)
}

// enlarge waits until no other large object is visited, for one that has grown.
func (a *answers) enlarge(ctx context.Context) error {
	a.leave()
	return a.take(ctx, a.large, visitsRoom, 0)
}

func (a *answers) take(ctx context.Context, of *share, bytes, most int64) error {
	if err := of.acquire(ctx, bytes); err != nil {
		return err
	}
	a.held, a.bytes, a.most = of, bytes, most
	return nil
}

func (a *answers) leave() {
	if a.held != nil {
		a.held.release(a.bytes)
	}
	a.held = nil
}

type answersKey struct{}

// within is a context for the requests of a visit.
func (a *answers) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, answersKey{}, a)
}

// mostOf is how long an answer may be, in bytes; 0 is no bound.
func mostOf(ctx context.Context) int64 {
	if a, ok := ctx.Value(answersKey{}).(*answers); ok {
		return a.most
	}
	return 0
}
