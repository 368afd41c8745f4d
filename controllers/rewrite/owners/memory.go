package owners

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// entry distinguishes references, for as long as their objects live.
type entry struct{ object, owner types.UID }

// returned is one that was counted as come back.
type returned entry

// maxRemembered bounds how many references a Memory has.
const maxRemembered = 10_000

// Memory is which references were moved, for one Repair after the other to tell what has come back since. It forgets when there
// are more than 10,000.
type Memory struct {
	mu    sync.Mutex
	moved map[entry]bool
}

// comesBack remembers a reference that was moved, and reports whether it was before.
func (m *Memory) comesBack(key entry) (before bool) {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if before = m.moved[key]; before {
		return true
	}
	if m.moved == nil || len(m.moved) >= maxRemembered {
		m.moved = map[entry]bool{}
	}
	m.moved[key] = true
	return false
}
