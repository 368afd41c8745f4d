package removal

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// wishes remembers what each VersionRemoval has asked for, so that a survey is
// asked for again when it is due and not at every look.
type wishes struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*wish
}

type wish struct {
	crd        string
	generation int64
	requested  string // value of the requestedAt annotation
	since      time.Time
}

func newWishes() *wishes { return &wishes{known: map[types.NamespacedName]*wish{}} }

// due returns since when a survey is wanted. It moves when the spec changes, when
// somebody asks by annotation, and when the interval is over.
func (w *wishes) due(name types.NamespacedName, crd string, generation int64, requested string, now time.Time, interval time.Duration) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := w.known[name]
	if !ok {
		// The first survey of this process may be older than our first look.
		known = &wish{crd: crd, generation: generation, requested: requested, since: now.Add(-interval)}
		w.known[name] = known
	}
	if known.generation != generation || known.requested != requested || now.Sub(known.since) >= 2*interval {
		*known = wish{crd: crd, generation: generation, requested: requested, since: now}
	}
	return known.since
}

func (w *wishes) forget(name types.NamespacedName) (crd string, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, known := w.known[name]
	if !known {
		return "", false
	}
	delete(w.known, name)
	return k.crd, true
}
