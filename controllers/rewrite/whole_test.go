package rewrite

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/policies/unpacking"
)

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// dense is a server with so many objects, each a list of so many items, which take a hundred times as much when they are decoded.
type dense struct {
	objects, items int
	asking         atomic.Int64 // for one object
	most           most
}

func (d *dense) object(i int) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"o%d"},"data":[%s{}]}`, i, strings.Repeat("{},", d.items))
}

func (d *dense) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, name, single := strings.Cut(r.URL.Path, "widgets/o")
	if single {
		d.most.note(d.asking.Add(1))
		defer d.asking.Add(-1)
		time.Sleep(10 * time.Millisecond) // so that all who may ask do
		i, _ := strconv.Atoi(name)
		_, _ = fmt.Fprint(w, d.object(i))
		return
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	first, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	end, next := min(first+limit, d.objects), ""
	if end < d.objects {
		next = strconv.Itoa(end)
	}
	var all []string
	for i := first; i < end; i++ {
		all = append(all, d.object(i))
	}
	_, _ = fmt.Fprintf(w, `{"apiVersion":"example.com/v1","kind":"WidgetList","metadata":{"resourceVersion":"7","continue":%q},"items":[%s]}`, next, strings.Join(all, ","))
}

func (d *dense) client(t *testing.T) *Client {
	t.Helper()
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	c, err := NewClient(&rest.Config{Host: server.URL}, server.Client())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

// most is the highest number that was noted.
type most struct {
	mu sync.Mutex
	n  int64
}

func (m *most) note(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n = max(m.n, n)
}

// Defaults are added to an object while it is held.
func TestWhatIsAddedToObjectsWaitsForRoom(t *testing.T) {
	g := NewWithT(t)
	client := (&dense{items: 1}).client(t)
	done, err := client.RoomToAdd(t.Context(), addedRoom/2+1)
	g.Expect(err).NotTo(HaveOccurred())
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = client.RoomToAdd(ended, addedRoom/2)
	g.Expect(err).To(MatchError(context.Canceled))
	done()
	done, err = client.RoomToAdd(t.Context(), 2*addedRoom)
	g.Expect(err).NotTo(HaveOccurred(), "what needs all the room has it alone")
	done()
}

// A tenant may write objects that take a hundred times as much memory as text.
func TestWholeObjectsWaitForRoom(t *testing.T) {
	const workers = 32
	for name, c := range map[string]struct {
		items   int
		atATime gomegatypes.GomegaMatcher
	}{
		"small ones are held together":                    {2000, BeNumerically(">", 2)},
		"large ones wait":                                 {50_000, BeNumerically("<=", 2)},
		"what takes more than all the room is held alone": {200_000, BeEquivalentTo(1)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := &dense{items: c.items}
			client := d.client(t)
			cost, _ := unpacking.CostOfJSON(d.object(1))
			var held atomic.Int64
			var most most
			var all sync.WaitGroup
			full := make(chan struct{})
			for i := range workers {
				all.Go(func() {
					err := client.TakeWhole(t.Context(), widgets, types.NamespacedName{Name: fmt.Sprint("o", i)}, func([]byte) error {
						most.note(held.Add(1))
						defer held.Add(-1)
						<-full
						return nil
					})
					g.Expect(err).NotTo(HaveOccurred())
				})
			}
			want := min(workers, max(1, wholeRoom/cost))
			g.Eventually(held.Load).Should(Equal(want))
			g.Consistently(held.Load, "100ms").Should(Equal(want))
			close(full)
			all.Wait()
			g.Expect(most.n).To(c.atATime)
			g.Expect(max(cost, most.n*cost)).To(BeNumerically("<=", max(cost, wholeRoom)))
			g.Expect(d.most.n).To(BeNumerically("<=", wholeReaders))
		})
	}
}

// What holds an object several times waits as if there were several.
func TestRoomIsTakenForAsManyTimesAsAnObjectIsHeld(t *testing.T) {
	g := NewWithT(t)
	d := &dense{items: 20_000}
	client := d.client(t)
	cost, _ := unpacking.CostOfJSON(d.object(1))
	times := wholeRoom/cost/2 + 1
	leave, err := client.Room(t.Context(), cost*times)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(client.whole.room.TryAcquire(wholeRoom / 2)).To(BeFalse())
	leave()
	leave, err = client.Room(t.Context(), 100*cost*times)
	g.Expect(err).NotTo(HaveOccurred(), "no more than all of it")
	leave()
}

func TestAPageOfWholeObjectsHasRoomForMore(t *testing.T) {
	g := NewWithT(t)
	d := &dense{objects: 12, items: 20_000} // 60 KB each, of which a page of 1 MiB has more
	var names []any
	_, err := d.client(t).EachWhole(t.Context(), widgets, clock.RealClock{}, func() {}, func(page []map[string]any, _ int64) error {
		cost, _ := unpacking.CostOfJSON(d.object(1))
		g.Expect(int64(len(page)) * cost).To(BeNumerically("<=", mostDecoded))
		for _, object := range page {
			names = append(names, object["metadata"].(map[string]any)["name"]) //nolint:forcetypeassert // as the server has it
		}
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names).To(HaveLen(12))
}

// A look at a page may take long, and other looks go on meanwhile.
func TestALookHoldsUpNoOther(t *testing.T) {
	g := NewWithT(t)
	client := (&dense{objects: 1}).client(t)
	look := func(ctx context.Context, take func([]map[string]any) error) error {
		_, err := client.EachWhole(ctx, widgets, clock.RealClock{}, func() {}, func(page []map[string]any, _ int64) error { return take(page) })
		return err
	}
	g.Expect(look(t.Context(), func([]map[string]any) error {
		return look(t.Context(), func([]map[string]any) error { return nil })
	})).To(Succeed())

	ended, end := context.WithCancel(t.Context())
	g.Expect(client.whole.room.Acquire(t.Context(), wholeRoom)).To(Succeed())
	defer client.whole.room.Release(wholeRoom) // all clients have the same
	result := make(chan error)
	go func() { result <- look(ended, func([]map[string]any) error { return nil }) }()
	g.Consistently(result, "50ms").ShouldNot(Receive(), "there is no room")
	end()
	g.Eventually(result).Should(Receive(MatchError(context.Canceled)))
}

// A controller has several clients, and one container.
func TestClientsShareOneRoomForWholeObjects(t *testing.T) {
	g := NewWithT(t)
	one, other := (&dense{objects: 1}).client(t), (&dense{objects: 1}).client(t)
	g.Expect(one.whole.room.Acquire(t.Context(), wholeRoom)).To(Succeed())
	defer one.whole.room.Release(wholeRoom)
	ctx, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	_, err := other.EachWhole(ctx, widgets, clock.RealClock{}, func() {}, func([]map[string]any, int64) error { return nil })
	g.Expect(err).To(MatchError(context.DeadlineExceeded), "there is no room")
}

// What an object has packed may take as much as all objects together that are held otherwise.
func TestWhatIsUnpackedIsHeldAlone(t *testing.T) {
	g := NewWithT(t)
	client := (&dense{objects: 3, items: 1}).client(t)
	taken := func() error {
		ctx, end := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer end()
		return client.TakeWhole(ctx, widgets, types.NamespacedName{Name: "o1"}, func([]byte) error { return nil })
	}
	for name, hold := range map[string]func(func()) error{
		"one": func(during func()) error {
			return client.Unpacking().TakeWhole(t.Context(), widgets, types.NamespacedName{Name: "o0"}, func([]byte) error { during(); return nil })
		},
		"a page": func(during func()) error {
			return client.Unpacking().TakePage(t.Context(), widgets, metav1.ListOptions{Limit: 2}, 0, func(page *unstructured.UnstructuredList) {
				g.Expect(page.Items).To(HaveLen(2))
				during()
			})
		},
	} {
		g.Expect(hold(func() { g.Expect(taken()).To(MatchError(context.DeadlineExceeded), name) })).To(Succeed())
	}
	g.Expect(taken()).To(Succeed(), "afterwards")
}

func TestAnObjectThatHasNoEndIsNotReadWhole(t *testing.T) {
	g := NewWithT(t)
	_, err := (&dense{objects: 1, items: 3 << 20}).client(t).Whole(t.Context(), widgets, types.NamespacedName{Name: "o0"})
	g.Expect(err).To(MatchError(errNoEnd))
}
