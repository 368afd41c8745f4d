package snapshot

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Removal is what one VersionRemoval showed.
type Removal struct {
	Namespace  string                      `json:"namespace"`
	Name       string                      `json:"name"`
	Generation int64                       `json:"generation"`
	Paused     bool                        `json:"paused,omitempty"`
	Spec       v1alpha1.VersionRemovalSpec `json:"spec"`

	// ObservedGeneration is the generation that the rest is about, -1 as long as there is no answer.
	ObservedGeneration int64 `json:"observedGeneration"`
	// Ready is the condition; nil as long as there is no answer.
	Ready       *Condition            `json:"ready,omitempty"`
	Proof       *v1alpha1.ProofStatus `json:"proof,omitempty"`
	LastWriteAt *time.Time            `json:"lastWriteAt,omitempty"`
	// Failures name objects that could not be rewritten, each with a reason in one word.
	Failures []string `json:"failures,omitempty"`
}

// id is namespace/name.
func (r *Removal) id() string { return r.Namespace + "/" + r.Name }

// answered reports whether the status is about the spec as it is.
func (r *Removal) answered() bool { return r.Ready != nil && r.ObservedGeneration == r.Generation }

func (r *Removal) ready() bool {
	return r.answered() && r.Ready.Status == string(metav1.ConditionTrue)
}

// asksFor reports whether all of the versions are among those that are to go.
func (r *Removal) asksFor(crd string, versions []string) bool {
	return r.Spec.CRDName == crd && sets.New(r.Spec.Versions...).HasAll(versions...)
}

// gate is the VersionRemoval that holds the removal of these versions back. One that names just them comes before one
// that names more, and one that is shut before one that is open. It is nil if there is none.
func (s *Snapshot) gate(crd string, versions []string) (gate *Removal) {
	for i := range s.Removals {
		r := &s.Removals[i]
		if r.asksFor(crd, versions) && (gate == nil || r.rather(gate)) {
			gate = r
		}
	}
	return gate
}

func (r *Removal) rather(other *Removal) bool {
	if mine, its := len(r.Spec.Versions), len(other.Spec.Versions); mine != its {
		return mine < its
	}
	return r.shut() && !other.shut()
}

func (r *Removal) shut() bool { return r.Paused || !r.ready() }
