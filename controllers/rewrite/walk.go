package rewrite

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"golang.org/x/sync/errgroup"

	"github.com/moult-dev/moult/controllers/rewrite/throttle"
)

const (
	// DefaultPageSize is how many objects are listed at a time, at most. Metadata of
	// 500 objects is usually about half a megabyte, whatever the objects' size; where
	// it is larger, the pages are smaller.
	DefaultPageSize = 500
	// DefaultWorkers is how many objects of one walk may be written at a time.
	DefaultWorkers = 32
)

// Mode is what a walk is for.
type Mode int

const (
	// Rewrite stores every object at the storage version.
	Rewrite Mode = iota
	// Check does too, as a proof: an object counts as Rewritten only if this walk
	// itself found it stale, never because somebody else wrote it.
	Check
	// Survey writes only to objects whose managedFields have to be repaired.
	Survey
)

// Walk is one pass over all objects of a resource.
type Walk struct {
	// Objects are listed and written at the storage version.
	Objects Objects
	// Otherwise are the same objects at other versions. A page is listed there if it
	// is spoilt at the storage version by one object that cannot be converted to it.
	Otherwise []Objects
	// Status are the same objects written to at their status subresource; nil if
	// they have none. It is the cheaper way to have an object stored again.
	Status Objects
	// Mode is what the walk is for.
	Mode Mode
	// Scope is the CRD's. Objects may be listed that do not fit it, which no request reaches. Empty is a scope that is not known.
	Scope apiextensionsv1.ResourceScope
	// Ownership is how managedFields are kept true.
	Ownership Ownership
	// Schema reads the storage version's schema, when entries have to be moved for
	// the first time; nil moves them as they are.
	Schema func(context.Context) (*apiextensionsv1.JSONSchemaProps, error)
	// Converts reports that the CRD has a conversion webhook. Without one, a field has the same name at every version
	// that has it.
	Converts bool
	// Follower finds owned fields at the storage version; it is asked for when
	// entries have to be moved for the first time. Nil means that fields have the
	// same path at every version.
	Follower func(context.Context) (Follower, error)
	// Guard, unless nil, is asked before an object is written.
	Guard *Guard
	// Admission, unless nil, is asked, too, where the write goes to the objects themselves: on the status subresource, admission can
	// change nothing but the status.
	Admission *Admission
	// Room is shared by all walks of a process; nil for one of its own.
	Room *Room
	// Look is how far the look is that comes before the walk, where there is one.
	Look LookProgress
	// ProvedAfter, in a Check, is a resourceVersion after which every write is
	// known to be current: objects beyond it need no request.
	ProvedAfter string
	// Moves, in a Check, are what the check before it has Moved.
	Moves Moves
	// Asked are the versions that somebody wants to go, whether the CRD lists them or not.
	Asked sets.Set[string]
	// LookedThrough is what an earlier walk has left at a version. No clock but our own is trusted where it need not be.
	LookedThrough map[string]LookedThrough

	// Workers and PageSize, the most objects of a page, have defaults when 0.
	Workers  int
	PageSize int64
	// Lane paces the writes, together with those of other walks; nil for a pace of
	// its own.
	Lane *throttle.Lane
	// YieldSlot, unless nil, is called between two pages, and may wait so that other
	// walks have their turn.
	YieldSlot func(context.Context) error
	// Unchanged, unless nil, is asked after objects were read, and before a write if that was some seconds ago. Its error is the end of the
	// walk: the CRD is not the one that the walk is about, and an object may have what only its new schemas have.
	Unchanged func(context.Context) error
	// Clock defaults to the real one.
	Clock clock.Clock
	// Jitter is a random part of a pause; it defaults to a real one.
	Jitter func(time.Duration) time.Duration

	collector collector
	checked   lastLook
	held      *held // by pages
	visits    visits
	mover     mover
	unfound   unfound
	breaker   breaker
	noStatus  atomic.Bool               // the status subresource was refused to us
	known     func() (Ownership, error) // the Ownership, with the schema read once
	follower  func() (Follower, error)  // the Follower, made once; nil if there is none
}

// Result is the state of the walk, at any time and from any goroutine.
func (w *Walk) Result() Result {
	return w.collector.snapshot()
}

// Run walks until every object has an outcome. The error is the context's or a
// *Stopped; objects that failed are in the Result and are no error. A Walk runs
// once.
func (w *Walk) Run(ctx context.Context) (Result, error) {
	w.setDefaults()
	w.collector.begin()

	defer w.held.giveAll()
	err := w.visitAll(ctx)
	if err == nil {
		err = w.lookAgain(ctx)
	}
	return w.collector.snapshot(), err
}

// visitAll brings each object that is listed to its outcome.
func (w *Walk) visitAll(ctx context.Context) error {
	pages := make(chan *page) // the next is fetched while one is written
	items := make(chan listed)
	group, ctx := errgroup.WithContext(ctx)
	w.known = sync.OnceValues(func() (Ownership, error) { return w.knowing(ctx) })
	w.follower = sync.OnceValues(func() (Follower, error) { return w.following(ctx) })
	group.Go(func() error {
		defer close(pages)
		return w.list(ctx, pages)
	})
	group.Go(func() error {
		defer close(items)
		return deal(ctx, pages, items)
	})
	for range w.Workers {
		group.Go(func() error {
			for item := range items {
				if err := w.visit(ctx, item); err != nil {
					return err
				}
				w.dealtWith(item.page)
			}
			return nil
		})
	}
	return group.Wait()
}

func (w *Walk) setDefaults() {
	if w.Workers <= 0 {
		w.Workers = DefaultWorkers
	}
	if w.PageSize <= 0 {
		w.PageSize = DefaultPageSize
	}
	if w.Lane == nil {
		w.Lane = throttle.New(throttle.Options{MaxInFlight: w.Workers}).Lane()
	}
	if w.Room == nil {
		w.Room = NewRoom()
	}
	w.held, w.visits = &held{room: w.Room.pages}, w.Room.newVisits()
	if w.Clock == nil {
		w.Clock = clock.RealClock{}
	}
	if w.Jitter == nil {
		w.Jitter = rand.N[time.Duration] //nolint:forbidigo // the default of what is injected
	}
}
