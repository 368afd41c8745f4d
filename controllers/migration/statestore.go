package migration

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/plan"
)

// StateStore is where those who want to remove versions ask, and where they read how
// far the migration is. It connects the removal reconciler to this one within a
// process and writes nothing to the cluster. What it costs does not depend on how
// many ask about a CRD.
type StateStore struct {
	mu       sync.Mutex
	statuses map[string]plan.MigrationStatus
	told     map[string]plan.MigrationStatus // as those who wait were last told of
	asked    map[string]*asked

	requests chan string // CRDs that are asked about anew
	changes  chan string // CRDs whose status has changed
}

// asked is all that is asked for of one CRD. Since and Every are the most that
// was asked for as long as anybody asks: who withdraws takes no survey back.
type asked struct {
	by       map[types.NamespacedName]plan.Removal
	versions map[string]int // how many ask for each
	since    time.Time
	every    time.Duration
}

// NewStateStore is an empty store.
func NewStateStore() *StateStore {
	return &StateStore{
		statuses: map[string]plan.MigrationStatus{}, told: map[string]plan.MigrationStatus{}, asked: map[string]*asked{},
		requests: make(chan string, 1024), changes: make(chan string, 1024),
	}
}

// Ask says that asker wants versions of a CRD to go. A survey of managedFields
// younger than since will answer. The last request of an asker replaces its earlier
// one.
func (b *StateStore) Ask(crd string, asker types.NamespacedName, request plan.Removal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.asked[crd]
	if a == nil {
		a = &asked{by: map[types.NamespacedName]plan.Removal{}, versions: map[string]int{}}
		b.asked[crd] = a
	}
	before, known := a.by[asker]
	if known && slices.Equal(before.Versions, request.Versions) && before.Since.Equal(request.Since) && before.Every == request.Every {
		return
	}
	a.forget(before)
	a.note(asker, request)
	send(b.requests, crd)
}

func (a *asked) note(asker types.NamespacedName, request plan.Removal) {
	a.by[asker] = request
	for _, v := range request.Versions {
		a.versions[v]++
	}
	if request.Since.After(a.since) {
		a.since = request.Since
	}
	if request.Every > 0 && (a.every == 0 || request.Every < a.every) {
		a.every = request.Every
	}
}

func (a *asked) forget(request plan.Removal) {
	for _, v := range request.Versions {
		if a.versions[v]--; a.versions[v] == 0 {
			delete(a.versions, v)
		}
	}
}

// Withdraw takes a request back.
func (b *StateStore) Withdraw(crd string, asker types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.asked[crd]
	if a == nil {
		return
	}
	a.forget(a.by[asker])
	delete(a.by, asker)
	if len(a.by) == 0 {
		delete(b.asked, crd)
	}
}

// removal is all that is asked for of a CRD.
func (b *StateStore) removal(crd string) plan.Removal {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.asked[crd]
	if a == nil {
		return plan.Removal{}
	}
	return plan.Removal{Versions: slices.Sorted(maps.Keys(a.versions)), Since: a.since, Every: a.every}
}

// Status is how far the migration of a CRD is; false if the migration
// reconciler has not looked at it, or does not look after it.
func (b *StateStore) Status(crd string) (plan.MigrationStatus, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, known := b.statuses[crd]
	return s, known
}

// Changes names each CRD whose status has changed, and of a walk under way
// every tenth of it. It has one reader.
func (b *StateStore) Changes() <-chan string { return b.changes }

func (b *StateStore) post(crd string, s plan.MigrationStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.statuses[crd] = s
	if b.asked[crd] == nil {
		delete(b.told, crd) // who asks next looks for itself
		return
	}
	if before, told := b.told[crd]; told && reflect.DeepEqual(gist(before), gist(s)) {
		return
	}
	if send(b.changes, crd) {
		b.told[crd] = s
	}
}

// gist is a status without what differs at every look at a walk under way.
// Those who wait may be thousands.
func gist(s plan.MigrationStatus) plan.MigrationStatus {
	s.Decision.Until = time.Time{}
	if w := s.Walking; w != nil {
		tenths := int64(w.Counts.Progress().Percent() / progressStep)
		s.Walking = &plan.Walking{Subject: w.Subject, Mode: w.Mode, Counts: plan.Counts{Total: progressStep, Current: tenths, Failed: min(w.Counts.Failed, 1)}}
		s.Decision.Sentence = "" // it tells the counts
	}
	return s
}

func (b *StateStore) forget(crd string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.statuses, crd)
	delete(b.told, crd)
	if b.asked[crd] != nil {
		send(b.changes, crd)
	}
}

// send drops the word if nobody reads fast enough, and returns whether it has
// not: readers look again by themselves, only later.
func send(to chan<- string, crd string) bool {
	select {
	case to <- crd:
		return true
	default:
		return false
	}
}
