package preview

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/rollout"
)

// gate is the VersionRemoval in the head that asks for all that leaves, if there is one.
func (m meaning) gate() (v1alpha1.VersionRemovalSpec, bool) {
	for _, unit := range m.to.Head.Units.Units {
		for _, object := range unit.Objects {
			if !object.IsGate() {
				continue
			}
			var gate v1alpha1.VersionRemoval
			if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &gate) != nil || gate.Spec.CRDName != m.change.Name {
				continue // the API server refuses what is broken, and rollout says that there is no gate
			}
			if !slices.ContainsFunc(m.change.Removed, func(v string) bool { return !slices.Contains(gate.Spec.Versions, v) }) {
				return gate.Spec, true
			}
		}
	}
	return v1alpha1.VersionRemovalSpec{}, false
}

// wait is what to do about what clears by itself.
func (m meaning) wait() string {
	if m.gated() {
		return "wait: Moult is at it; merged now, the VersionRemoval holds the removal back until it is done"
	}
	return "wait: Moult is at it; then take another snapshot"
}

// repair is said where managedFields are all that is left. Moult moves these entries when a VersionRemoval asks for it
// (controllers/removal/state.go), and none in the cluster does: whoever waited would wait for ever.
func (m meaning) repair(out *InCluster) {
	leaving := strings.Join(m.leaving(), ", ")
	out.Reason = ReasonOwnershipNotRepaired
	said := "managedFields still name " + leaving
	crd := m.crd()
	if crd.Objects == nil {
		said = "nobody has looked whether managedFields name " + leaving
	}
	out.Sentence = fmt.Sprintf("every object is stored at %s, but %s; Moult moves such entries when a VersionRemoval asks for it, and none is seen in the cluster", crd.StorageVersion(), said)
	action := fmt.Sprintf("add a VersionRemoval for %s of %s: Moult moves the entries when one asks", leaving, m.change.Name)
	switch {
	case m.sound():
		action = "merge: the VersionRemoval has the entries moved first, then the version goes"
	case m.asked():
		action = "let the CRD wait for the VersionRemoval of this pull request: Moult moves the entries when that asks, and the version may go after that"
	}
	out.Blockers = []v1alpha1.Blocker{{Kind: out.Reason, Message: out.Sentence, Action: action}}
}

// asked tells whether a VersionRemoval of the pull request names all that the cluster loses.
func (m meaning) asked() bool {
	gate, found := m.gate()
	return found && !slices.ContainsFunc(m.leaving(), func(v string) bool { return !slices.Contains(gate.Versions, v) })
}

// gated tells whether a VersionRemoval of the pull request holds the removal back, with nothing found against it.
func (m meaning) gated() bool { return m.asked() && finding.Worst(m.found) != finding.Error }

// unsound are the rules by which a VersionRemoval does not hold the removal back, or may not.
var unsound = []string{
	rollout.GateLacksVersion, rollout.GateCannotOpen, rollout.GateNotEarlier, rollout.GateNotWaitedFor, rollout.GateAtOtherCommit,
	rollout.ApplicationHealthUnknown, rollout.GateUnchanged,
}

// sound is gated without even a doubt that the VersionRemoval comes first and is waited for.
func (m meaning) sound() bool {
	return m.gated() && !slices.ContainsFunc(m.found, func(f finding.Finding) bool { return slices.Contains(unsound, f.Rule) })
}
