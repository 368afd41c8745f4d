package removal

import (
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// stateStore holds what this process knows about each VersionRemoval. It is what it asks for and since when, by this
// process' clock, so that no answer is given by what was seen before. It is also what this process has answered. A
// status has the answer, too, but not whether this process or an earlier one has found it.
type stateStore struct {
	mu     sync.Mutex
	states map[types.NamespacedName]*state
}

type state struct {
	uid types.UID
	request
	answer    *answer   // nil if there is none yet
	hasFailed bool      // to answer it, perhaps for long
	anewAt    time.Time // when it was closed for that
}

// request is what a VersionRemoval asks for.
type request struct {
	crd        string
	generation int64
	requested  string // value of the requestedAt annotation

	asked       time.Time // when the spec was first seen as it is, or a look was last requested
	requestedAt time.Time // when the request was first seen; zero if it was answered before
	closedAt    time.Time // when the gate was last closed for long
}

type answer struct {
	generation int64
	proof      *v1alpha1.ProofStatus // nil if the versions were not found safe
}

func newStateStore() *stateStore {
	return &stateStore{states: map[types.NamespacedName]*state{}}
}

// request returns what a VersionRemoval as it is now asks for, and the CRD that its
// name was about before, if that was another one. What an earlier process has found
// safe is not asked for anew.
func (s *stateStore) request(removal *v1alpha1.VersionRemoval, now time.Time) (known request, left string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := client.ObjectKeyFromObject(removal)
	requested, _ := meta.ReconcileAnnotationValue(removal.Annotations)
	is := s.states[name]
	if is != nil && is.crd != removal.Spec.CRDName {
		left = is.crd
	}
	if is == nil || is.uid != removal.UID {
		is = &state{uid: removal.UID, request: request{generation: removal.Generation, requested: removal.Status.LastHandledReconcileAt}}
		if !open(removal) {
			is.asked = now
		}
		s.states[name] = is
	}
	if is.generation < removal.Generation {
		is.generation, is.asked = removal.Generation, now
	}
	if requested != "" && requested != is.requested {
		is.requested, is.asked, is.requestedAt = requested, now, now
	}
	is.crd = removal.Spec.CRDName
	return is.request, left
}

// open reports whether a VersionRemoval as it is now was found safe.
func open(removal *v1alpha1.VersionRemoval) bool {
	return removal.Status.ObservedGeneration == removal.Generation && removal.Status.Proof != nil
}

// with hands out the state of a VersionRemoval, if there is one of this very one.
func (s *stateStore) with(removal *v1alpha1.VersionRemoval, do func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is := s.states[client.ObjectKeyFromObject(removal)]; is != nil && is.uid == removal.UID {
		do(is)
	}
}

// closed notes that a gate is closed and may be for long.
func (s *stateStore) closed(removal *v1alpha1.VersionRemoval, now time.Time) {
	s.with(removal, func(is *state) { is.closedAt = now })
}

// failed notes that a VersionRemoval could not be answered.
func (s *stateStore) failed(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is := s.states[name]; is != nil {
		is.hasFailed = true
	}
}

// closesOnceFailed closes a gate that could not be answered before, once a minute at most: what fails on may fail for long.
func (s *stateStore) closesOnceFailed(removal *v1alpha1.VersionRemoval, now time.Time) (closes bool) {
	s.with(removal, func(is *state) {
		if closes = is.hasFailed && now.Sub(is.anewAt) > time.Minute; closes {
			is.anewAt, is.closedAt = now, now
		}
		is.hasFailed = false
	})
	return closes
}

// answered notes an answer, and returns whether it is another one than before. When
// managedFields were looked through makes no other answer of it.
func (s *stateStore) answered(removal *v1alpha1.VersionRemoval, proof *v1alpha1.ProofStatus) (changed bool) {
	changed = true
	s.with(removal, func(is *state) {
		now := &answer{generation: removal.Generation, proof: proof}
		changed = is.answer == nil || !is.answer.same(*now)
		is.answer = now
	})
	return changed
}

func (a answer) same(b answer) bool {
	if a.generation != b.generation || a.proof == nil || b.proof == nil {
		return a == b
	}
	return a.proof.UID == b.proof.UID && a.proof.Generation == b.proof.Generation && a.proof.StorageVersion == b.proof.StorageVersion
}

// answerTo is the answer to a VersionRemoval as it is now; nil if there is none.
func (s *stateStore) answerTo(removal *v1alpha1.VersionRemoval) (answer *answer) {
	s.with(removal, func(is *state) {
		if is.answer != nil && is.answer.generation == removal.Generation {
			answer = is.answer
		}
	})
	return answer
}

// forgetAnswer drops an answer that could not be given.
func (s *stateStore) forgetAnswer(removal *v1alpha1.VersionRemoval) {
	s.with(removal, func(is *state) { is.answer = nil })
}

// forget drops a VersionRemoval, and returns the CRD that it was about.
func (s *stateStore) forget(name types.NamespacedName) (crd string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is, known := s.states[name]
	if known {
		crd = is.crd
	}
	delete(s.states, name)
	return crd, known
}
