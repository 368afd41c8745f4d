package removal

import (
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// requests remembers what each VersionRemoval has asked for and when, by this
// process' clock, so that no answer is given by what was seen before.
type requests struct {
	mu    sync.Mutex
	known map[types.NamespacedName]request
}

// request is what is known about one VersionRemoval.
type request struct {
	crd        string
	uid        types.UID
	generation int64
	requested  string // value of the requestedAt annotation

	asked       time.Time // when the spec was first seen as it is, or a look was last requested
	requestedAt time.Time // when the request was first seen; zero if it was answered before
	closedAt    time.Time // when the gate was last closed for long
}

func newRequests() *requests { return &requests{known: map[types.NamespacedName]request{}} }

// note returns what is known about a VersionRemoval as it is now, and the CRD
// that its name was about before, if that was another one. What an earlier
// process has found safe is not asked for anew.
func (w *requests) note(removal *v1alpha1.VersionRemoval, now time.Time) (known request, left string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := client.ObjectKeyFromObject(removal)
	requested, _ := meta.ReconcileAnnotationValue(removal.Annotations)
	known, ok := w.known[name]
	if ok && known.crd != removal.Spec.CRDName {
		left = known.crd
	}
	if !ok || known.uid != removal.UID {
		known = request{uid: removal.UID, generation: removal.Generation, requested: removal.Status.LastHandledReconcileAt}
		if !open(removal) {
			known.asked = now
		}
	}
	if known.generation < removal.Generation {
		known.generation, known.asked = removal.Generation, now
	}
	if requested != "" && requested != known.requested {
		known.requested, known.asked, known.requestedAt = requested, now, now
	}
	known.crd = removal.Spec.CRDName
	w.known[name] = known
	return known, left
}

// open tells whether a VersionRemoval as it is now was found safe.
func open(removal *v1alpha1.VersionRemoval) bool {
	return removal.Status.ObservedGeneration == removal.Generation && removal.Status.Proof != nil
}

// closed notes that a gate is closed and may be for long.
func (w *requests) closed(name types.NamespacedName, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, ok := w.known[name]; ok {
		known.closedAt = now
		w.known[name] = known
	}
}

func (w *requests) forget(name types.NamespacedName) (crd string, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, known := w.known[name]
	delete(w.known, name)
	return k.crd, known
}
