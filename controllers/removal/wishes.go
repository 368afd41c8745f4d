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
	requested  string    // value of the requestedAt annotation
	asked      time.Time // when since was set last
	since      time.Time
}

func newWishes() *wishes { return &wishes{known: map[types.NamespacedName]*wish{}} }

// due returns since when a survey is wanted, and the CRD that the name was about
// before, if that was another one. It moves when the spec changes, when
// somebody asks by annotation, and when the interval is over.
func (w *wishes) due(name types.NamespacedName, crd string, generation int64, requested string, now time.Time, interval time.Duration) (since time.Time, left string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := w.known[name]
	if ok && known.crd != crd {
		left = known.crd // the name was used before, for another CRD
	}
	switch {
	case !ok, left != "":
		known = &wish{asked: now} // any survey of this process will do
		w.known[name] = known
	case known.generation != generation, known.requested != requested, now.Sub(known.asked) >= interval:
		known.asked, known.since = now, now
	}
	known.crd, known.generation, known.requested = crd, generation, requested
	return known.since, left
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
