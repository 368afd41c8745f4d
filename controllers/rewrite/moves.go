package rewrite

import (
	"hash/maphash"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Moves are objects that checks have stored again, as the last of them left each, and how many checks in a row did so
// while no other client wrote it. A check after the settle time finds an object stale once. One that it finds so for
// the third time, by its own last write, is changed by each write. An example is a webhook that puts the time into the
// status, which no walk reads.
type Moves map[uint64]int

const (
	// enoughMoves is how many earlier checks make an object one that is changed at
	// every write. Two, and a settle time each: a write through an API server that
	// lags for longer than that could look the same once.
	enoughMoves = 2
	// maxMoves bounds the memory, about 40 bytes each.
	maxMoves = 100_000
)

// of is how many checks in a row have stored an object that is as the last of them
// left it.
func (m Moves) of(item *metav1.PartialObjectMetadata) int { return m[stateOf(item)] }

// stateOf is an object at its resourceVersion.
func stateOf(item *metav1.PartialObjectMetadata) uint64 {
	return maphash.String(seed, item.Namespace+"/"+item.Name+" "+item.ResourceVersion)
}

// mover collects the Moves of a check.
type mover struct {
	mu    sync.Mutex
	moves Moves
}

func (m *mover) add(item *metav1.PartialObjectMetadata, moves int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.moves == nil {
		m.moves = Moves{}
	}
	if len(m.moves) < maxMoves {
		m.moves[stateOf(item)] = moves
	}
}

// Moved are the objects that this check has stored again, for the next one's Moves.
// It is called once Run has returned.
func (w *Walk) Moved() Moves { return w.mover.moves }
