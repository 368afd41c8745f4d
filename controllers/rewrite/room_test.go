package rewrite

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// hands are how many bytes of metadata walks have in their hands: objects that were listed and have no outcome yet, and those of
// requests under way.
type hands struct {
	mu                         sync.Mutex
	listing, kept, writing     int
	mostRead, mostKept, mostWr int
}

func (h *hands) count(listing, kept, writing int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listing, h.kept, h.writing = h.listing+listing, h.kept+kept, h.writing+writing
	h.mostRead, h.mostKept, h.mostWr = max(h.mostRead, h.listing), max(h.mostKept, h.kept), max(h.mostWr, h.writing)
}

// laden is a shelf whose objects have large managedFields, which a walk keeps, on a server that takes its time.
type laden struct {
	*heavy
	hands *hands
	owns  string
}

func newLaden(n, size int, h *hands) *laden {
	l := &laden{heavy: &heavy{shelf: newShelf(n), size: func(int) int { return 1 }}, hands: h, owns: `{"f:` + strings.Repeat("x", size) + `":{}}`}
	for _, o := range l.objects {
		o.managed = []metav1.ManagedFieldsEntry{entry("tool", apply, "example.com/v1", l.owns)}
	}
	return l
}

func (l *laden) List(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	l.hands.count(1, 0, 0)
	defer l.hands.count(-1, 0, 0)
	time.Sleep(time.Millisecond)
	list, err := l.heavy.List(ctx, opts)
	if err == nil {
		l.hands.count(0, len(list.Items)*len(l.owns), 0)
	}
	return list, err
}

func (l *laden) Patch(ctx context.Context, key types.NamespacedName, kind types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	l.hands.count(0, 0, len(l.owns))
	defer l.hands.count(0, -len(l.owns), -len(l.owns))
	time.Sleep(10 * time.Millisecond)
	return l.heavy.Patch(ctx, key, kind, body)
}

func TestWalksShareOneRoom(t *testing.T) {
	for name, c := range map[string]struct{ objects, size, mostKept, mostWritten int }{
		"of objects of a megabyte":      {30, 1 << 20, pagesRoom + 1<<20, 1<<20 + 1<<10},
		"of objects of fifty kilobytes": {300, 50 << 10, pagesRoom, visitsRoom / decoded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, room, h := NewWithT(t), NewRoom(), &hands{}
				var walks errgroup.Group
				for range 8 {
					walks.Go(func() error {
						l := newLaden(c.objects, c.size, h)
						_, result, err := walkOver(l.shelf, func(w *Walk) { w.Objects, w.Room, w.PageSize, w.Workers = l, room, 0, 32 })
						g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: int64(c.objects)}))
						return err
					})
				}
				g.Expect(walks.Wait()).To(Succeed())
				g.Expect(h.mostRead).To(Equal(1), "pages that are read at a time")
				g.Expect(h.mostKept).To(BeNumerically("<=", c.mostKept), "bytes of objects without an outcome")
				g.Expect(h.mostWr).To(BeNumerically("<=", c.mostWritten), "bytes of objects that are written at a time")
				g.Expect(room.pages.TryAcquire(pagesRoom) && room.visits.free+room.large.free == 2*visitsRoom && room.fields.TryAcquire(fieldsRoom)).To(BeTrue(), "all is given back")
			})
		})
	}
}

// peak is how many are somewhere at a time.
type peak struct {
	mu        sync.Mutex
	now, most int
}

func (p *peak) pass(takes time.Duration) {
	p.mu.Lock()
	p.now++
	p.most = max(p.most, p.now)
	p.mu.Unlock()
	time.Sleep(takes)
	p.mu.Lock()
	p.now--
	p.mu.Unlock()
}

func TestSchemasShareOneRoom(t *testing.T) {
	for name, c := range map[string]struct{ size, most int }{
		"as large as etcd takes": {1400 << 10, 1},
		"of 12,000 fields":       {600 << 10, 1},
		"of 7,000 fields":        {350 << 10, 2},
		"of 2,000 fields":        {100 << 10, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, room := NewWithT(t), NewRoom()
				var walks errgroup.Group
				var holding peak
				for range 8 {
					walks.Go(func() error {
						leave, err := room.ForSchemas(t.Context(), c.size)
						if err == nil {
							holding.pass(time.Minute)
							leave()
						}
						return err
					})
				}
				g.Expect(walks.Wait()).To(Succeed())
				g.Expect(holding.most).To(Equal(c.most), "CRDs whose schemas are held at a time")
				g.Expect(room.schemas.TryAcquire(schemasRoom)).To(BeTrue(), "all is given back")
			})
		})
	}
}

func TestWhoWaitsForSchemasCanBeStopped(t *testing.T) {
	g, room := NewWithT(t), NewRoom()
	leave, err := room.ForSchemas(t.Context(), 2<<20)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = room.ForSchemas(ctx, 2<<20)
	g.Expect(err).To(MatchError(context.Canceled))
	leave()
	g.Expect(room.schemas.TryAcquire(schemasRoom)).To(BeTrue())
}

func TestAWalkThatIsStoppedGivesItsRoomBack(t *testing.T) {
	g, room := NewWithT(t), NewRoom()
	l := newLaden(100, 10<<10, &hands{})
	ctx, cancel := context.WithCancel(t.Context())
	l.meanwhile = func(*shelf, string, int) { cancel() }
	_, err := (&Walk{Objects: l, Room: room, Workers: 4}).Run(ctx)
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(room.pages.TryAcquire(pagesRoom) && room.visits.free == visitsRoom).To(BeTrue())
}

// grown is a shelf whose objects have become larger since they were listed: an answer is read only as far as there is room for it.
type grown struct {
	*shelf
	size int64
}

func (s *grown) answer(ctx context.Context, object *metav1.PartialObjectMetadata, err error) (*metav1.PartialObjectMetadata, error) {
	if most := mostOf(ctx); err == nil && most > 0 && s.size > most {
		return nil, ErrAnswerTooLarge
	}
	return object, err
}

func (s *grown) Get(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	object, err := s.shelf.Get(ctx, key)
	return s.answer(ctx, object, err)
}

func (s *grown) Patch(ctx context.Context, key types.NamespacedName, kind types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	object, err := s.shelf.Patch(ctx, key, kind, body)
	return s.answer(ctx, object, err)
}

func TestAnObjectThatHasGrownIsVisitedAlone(t *testing.T) {
	for name, c := range map[string]struct {
		mode      Mode
		meanwhile func(*shelf, string, int)
		want      Outcome
	}{
		"rewritten":                           {mode: Rewrite, want: Rewritten},
		"checked, and written since the list": {mode: Check, want: Overtaken, meanwhile: touchOnce},
		"checked, and stale since it was listed": {mode: Check, want: Rewritten, meanwhile: func(s *shelf, name string, try int) {
			touchOnce(s, name, try)
			s.objects[name].stale = s.objects[name].stale || try == 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := &grown{shelf: newShelf(20), size: 1 << 20}
			s.meanwhile = c.meanwhile
			_, result, err := walkOver(s.shelf, func(w *Walk) { w.Objects, w.Mode = s, c.mode })
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(map[Outcome]int64{c.want: 20}))
			g.Expect(s.stale()).To(BeZero())
		})
	}
}

func touchOnce(s *shelf, name string, try int) {
	if try == 0 {
		s.touch(name)
	}
}

func TestEntriesThatAWriteWipedArePutBackOnAnObjectThatHasGrown(t *testing.T) {
	g := NewWithT(t)
	s := &grown{shelf: shelfOf(1, before()...), size: 1 << 20}
	s.wipes = func(try int, _ []metav1.ManagedFieldsEntry) bool { return try == 0 }
	_, result, err := walkOver(s.shelf, func(w *Walk) { resting(w); w.Objects, w.Clock = s, swiftClock{} })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 1}))
	g.Expect(asJSON(s.objects["o00000"].managed)).To(MatchJSON(asJSON(before())))
}

func TestAVisitOfWhatHasGrownWaitsForOtherLargeOnes(t *testing.T) {
	for name, ask := range map[string]func(Objects, types.NamespacedName) (*metav1.PartialObjectMetadata, error){
		"to read it": func(o Objects, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
			return o.Get(context.Background(), key)
		},
		"to write it": func(o Objects, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
			return o.Patch(context.Background(), key, types.MergePatchType, emptyPatch.body)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, room, s := NewWithT(t), NewRoom(), &grown{shelf: newShelf(1), size: 1 << 20}
				other, err := room.Visit(t.Context(), 1<<20)
				g.Expect(err).NotTo(HaveOccurred())
				visit, err := room.Visit(t.Context(), 100)
				g.Expect(err).NotTo(HaveOccurred())
				answered := make(chan error, 1)
				go func() {
					_, err := ask(visit.In(s), types.NamespacedName{Namespace: "ns", Name: "o00000"})
					answered <- err
				}()
				synctest.Wait()
				g.Expect(answered).NotTo(Receive())
				other.End()
				g.Expect(<-answered).To(Succeed())
				visit.End()
				g.Expect(room.visits.free+room.large.free).To(BeEquivalentTo(2*visitsRoom), "all is given back")
			})
		})
	}
}
