package preview

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/rollout"
)

// gateFor is the VersionRemoval that asks for all that leaves, nil if there is none. What is broken the API server refuses,
// and rollout says that there is no gate.
func (s Side) gateFor(change crddiff.Diff) *v1alpha1.VersionRemovalSpec {
	for _, object := range s.Cluster.Objects() {
		var gate v1alpha1.VersionRemoval
		if object.IsGate() && runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &gate) == nil &&
			gate.Spec.CRDName == change.Name && sets.New(gate.Spec.Versions...).HasAll(change.Removed...) {
			return &gate.Spec
		}
	}
	return nil
}

// waiting says what to do about what clears by itself.
func (m meaning) waiting(in InCluster) InCluster {
	if len(in.Blockers) > 0 {
		return in
	}
	action := "wait: the migration is running; then take another snapshot"
	if m.sound() {
		action = "wait: the migration is running. If merged now, the VersionRemoval holds the removal until the migration is done"
	}
	in.Blockers = []v1alpha1.Blocker{{Kind: in.Reason, Message: in.Sentence, Action: action}}
	return in
}

// repair is said where managedFields are all that is left. Moult moves these entries when a VersionRemoval asks for it
// (controllers/removal/state.go), and none in the cluster does: waiting would never end.
func (m meaning) repair(in InCluster) InCluster {
	leaving := strings.Join(m.leaving, ", ")
	said := "managedFields still name " + leaving
	if m.stored.Objects == nil {
		said = "it is not known whether managedFields name " + leaving
	}
	in.Reason = ReasonOwnershipNotRepaired
	in.Sentence = fmt.Sprintf("every object is stored at %s, but %s; Moult moves such entries when a VersionRemoval asks for it, and none is seen in the cluster", m.stored.StorageVersion(), said)
	action := fmt.Sprintf("add a VersionRemoval for %s of %s: Moult moves the entries when one asks", leaving, m.change.Name)
	switch {
	case m.sound():
		action = "merge: the VersionRemoval has the entries moved first, then the version goes"
	case m.asked():
		action = "make the CRD wait for the VersionRemoval of this pull request; Moult then moves the entries, and the version may go afterwards"
	}
	in.Blockers = []v1alpha1.Blocker{{Kind: in.Reason, Message: in.Sentence, Action: action}}
	return in
}

// asked reports whether a VersionRemoval of the pull request names all that the cluster loses.
func (m meaning) asked() bool {
	return m.gate != nil && sets.New(m.gate.Versions...).HasAll(m.leaving...)
}

// gated reports whether a VersionRemoval of the pull request holds the removal back, with nothing found against it.
func (m meaning) gated() bool { return m.asked() && finding.Worst(m.found) != finding.Error }

// ifGated is the verdict on what only a VersionRemoval is needed for.
func (m meaning) ifGated() Verdict {
	if m.gated() {
		return Warned
	}
	return Blocked
}

// unsound are the rules by which a VersionRemoval does not hold the removal back, or may not, or never lets it pass.
var unsound = append([]string{rollout.GateCannotOpen, rollout.GateLocksItself}, rollout.NotEnforced...)

// sound is gated without even a doubt that the VersionRemoval comes first and is waited for.
func (m meaning) sound() bool {
	return m.gated() && !slices.ContainsFunc(m.found, func(f finding.Finding) bool { return slices.Contains(unsound, f.Rule) })
}
