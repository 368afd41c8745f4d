package migration

import (
	"maps"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/plan"
)

// turns are how a CRD went to and fro. They outlive the opt-in label, by as long as it may be undone, and end with the CRD.
type turns struct {
	uid           types.UID
	flips, labels plan.Turns
}

// turn changes what is known of a CRD's turns.
func (s *StateStore) turn(crd string, uid types.UID, now time.Time, change func(*turns)) turns {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.turns[crd]
	if known == nil || known.uid != uid {
		s.dropTurns(now)
		known = &turns{uid: uid}
		s.turns[crd] = known
	}
	change(known)
	return *known
}

// dropTurns drops those of CRDs without the label that cannot be undone any more. No watch reports that such a CRD was deleted.
func (s *StateStore) dropTurns(now time.Time) {
	maps.DeleteFunc(s.turns, func(crd string, t *turns) bool { return s.states[crd] == nil && t.labels.Over(now) })
}

// gone drops the turns of a CRD that is not there any more.
func (s *StateStore) gone(crd string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.turns, crd)
}

// turned notes how a CRD is that has opted in.
func (r *Reconciler) turned(crd *apiextensionsv1.CustomResourceDefinition, o *plan.Observation) {
	known := r.states.turn(crd.Name, crd.UID, o.Now, func(t *turns) {
		if t.flips == (plan.Turns{}) {
			t.flips, t.labels = resumed(r.said(crd), t.labels, o.Now)
		}
		t.flips = t.flips.Seen(o.StorageVersion, flippedBy(crd), o.Now)
		if t.labels == (plan.Turns{}) {
			t.labels = t.labels.Seen("off", "", o.Now) // before it was there
		}
		t.labels = t.labels.Seen("on", labelorigin.Of(crd, r.opts.LabelKey).Owner, o.Now)
	})
	o.Flips, o.Labels = known.flips, known.labels
}

// resumed are the turns that the condition names, as an earlier process has written it; else those of the label as they are known.
func resumed(said *plan.Said, known plan.Turns, now time.Time) (flips, labels plan.Turns) {
	if said == nil || said.Reason != v1alpha1.ReasonUndone || known != (plan.Turns{}) {
		return plan.Turns{}, known
	}
	return plan.Resumed(said.Message, now)
}

// unlabelledBy notes that the label was taken off, and reports whether that was so twice.
func (r *Reconciler) unlabelledBy(crd *apiextensionsv1.CustomResourceDefinition, by string, now time.Time) (twice bool) {
	return r.states.turn(crd.Name, crd.UID, now, func(t *turns) { t.labels = t.labels.Seen("off", by, now) }).labels.UndoneTwice()
}
