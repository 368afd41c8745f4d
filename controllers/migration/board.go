package migration

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/plan"
)

// Board is where those who want to remove versions ask, and where they read how
// far the migration is. It connects the removal reconciler to this one within a
// process and writes nothing to the cluster.
type Board struct {
	mu        sync.Mutex
	standings map[string]plan.Standing
	asked     map[string]map[types.NamespacedName]plan.Removal

	wishes  chan string // CRDs that are asked about anew
	changes chan string // CRDs whose standing has changed
}

// NewBoard is an empty board.
func NewBoard() *Board {
	return &Board{
		standings: map[string]plan.Standing{}, asked: map[string]map[types.NamespacedName]plan.Removal{},
		wishes: make(chan string, 1024), changes: make(chan string, 1024),
	}
}

// Ask says that asker wants versions of a CRD to go. A survey of managedFields
// younger than since will answer. The last wish of an asker replaces its earlier
// one.
func (b *Board) Ask(crd string, asker types.NamespacedName, wish plan.Removal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked[crd] == nil {
		b.asked[crd] = map[types.NamespacedName]plan.Removal{}
	}
	before, known := b.asked[crd][asker]
	if known && slices.Equal(before.Versions, wish.Versions) && before.Since.Equal(wish.Since) {
		return
	}
	b.asked[crd][asker] = wish
	send(b.wishes, crd)
}

// Withdraw takes a wish back.
func (b *Board) Withdraw(crd string, asker types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.asked[crd], asker)
	if len(b.asked[crd]) == 0 {
		delete(b.asked, crd)
	}
}

// removal is all that is asked for of a CRD.
func (b *Board) removal(crd string) (all plan.Removal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	versions := map[string]bool{}
	for _, wish := range b.asked[crd] {
		for _, v := range wish.Versions {
			versions[v] = true
		}
		if wish.Since.After(all.Since) {
			all.Since = wish.Since
		}
	}
	all.Versions = slices.Sorted(maps.Keys(versions))
	return all
}

// Standing is how far the migration of a CRD is; false if the migration
// reconciler has not looked at it, or does not look after it.
func (b *Board) Standing(crd string) (plan.Standing, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, known := b.standings[crd]
	return s, known
}

// Changes names each CRD whose standing has changed. It has one reader.
func (b *Board) Changes() <-chan string { return b.changes }

func (b *Board) post(crd string, s plan.Standing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.standings[crd] = s
	if b.asked[crd] != nil {
		send(b.changes, crd)
	}
}

func (b *Board) forget(crd string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.standings, crd)
	if b.asked[crd] != nil {
		send(b.changes, crd)
	}
}

// send drops the word if nobody reads fast enough: readers look again by
// themselves, only later.
func send(to chan<- string, crd string) {
	select {
	case to <- crd:
	default:
	}
}
