package verdict

import (
	"fmt"
	"slices"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

// wouldLose is the verdict while managedFields cannot be moved without a field
// manager losing ownership. It clears by itself when the manager writes at the
// storage version, because then the API server moves what it owns. The message
// names no object: who asks may not be allowed to see it.
func (s Situation) wouldLose(waiting []plan.Loss) Verdict {
	first, more := waiting[0], ""
	if n := len(waiting) - 1; n > 0 {
		more = fmt.Sprintf("; %d more field managers would lose some, too", n)
	}
	message := fmt.Sprintf("%s: managedFields cannot be moved away from %s without a loss: field manager %s would no longer own %d fields of %d objects%s",
		s.Removal.CRDName, first.Version, first.Manager, first.Fields, first.Objects, more)
	action := fmt.Sprintf("let the named field managers write the objects once at %s, or fix the cause in status.blockers; to give that ownership up, set the annotation %s: %q on the CRD",
		s.CRD.StorageVersion, v1alpha1.AllowOwnershipLossAnnotation, first.Version)
	v := progressing(v1alpha1.ReasonOwnershipWouldBeLost, message, action)
	v.Blockers, v.Until = nil, s.Migration.Evidence.Survey.NextAt
	for _, loss := range waiting {
		v.Blockers = append(v.Blockers, v1alpha1.Blocker{Kind: v1alpha1.ReasonOwnershipWouldBeLost, Action: action,
			Message: fmt.Sprintf("field manager %s would no longer own %s", loss.Manager, fieldsOf(loss))})
	}
	return v
}

// warnOfLosses puts first what field managers have lost.
func (s Situation) warnOfLosses(warnings []v1alpha1.Blocker) []v1alpha1.Blocker {
	var lost []v1alpha1.Blocker
	for _, loss := range s.losses(false) {
		lost = append(lost, v1alpha1.Blocker{Kind: v1alpha1.OwnershipLost,
			Message: fmt.Sprintf("field manager %s no longer owns %s", loss.Manager, fieldsOf(loss)),
			Action:  fmt.Sprintf("let %s write the objects once at %s with those fields: until then it neither prunes nor defends them", client(loss.Manager), s.CRD.StorageVersion)})
	}
	warnings = append(lost, warnings...)
	return warnings[:min(len(warnings), maxWarnings)]
}

// losses are those at the versions that are asked for, as many as a status names.
func (s Situation) losses(waiting bool) (some []plan.Loss) {
	if s.Migration == nil || s.CRD == nil {
		return nil
	}
	for _, l := range s.Migration.Losses {
		if l.Waits == waiting && slices.Contains(s.Removal.Versions, l.Version) && len(some) < maxWriters {
			some = append(some, l)
		}
	}
	return some
}

func fieldsOf(l plan.Loss) string {
	return fmt.Sprintf("%d fields of %d objects that it owned at %s, for example %s of %s: %s", l.Fields, l.Objects, l.Version, l.Field, l.Object, l.Why)
}
