package verdict

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

// Record is what a VersionRemoval knows of its CRD, whatever was asked for when it was found out.
type Record struct {
	// Before is the reason of the last answer, empty if there was none.
	Before string
	// Cleared is of what no object was stored at the versions, nil if that is not known.
	Cleared *v1alpha1.ClearedStatus
	// Left: objects may be left that no client can read.
	Left bool
}

// RecordOf reads the status of a VersionRemoval. An older Moult has left the proof and the reason alone.
func RecordOf(removal *v1alpha1.VersionRemoval) (r Record) {
	ready := meta.FindStatusCondition(removal.Status.Conditions, "Ready")
	if ready == nil {
		return r
	}
	r = Record{Before: ready.Reason, Cleared: removal.Status.Cleared, Left: removal.Status.Left || slices.Contains(leaving, ready.Reason)}
	switch proof := removal.Status.Proof; {
	case r.Cleared != nil:
	case r.Before == v1alpha1.ReasonNothingStored:
		r.Cleared = &v1alpha1.ClearedStatus{}
	case proof != nil:
		r.Cleared = &v1alpha1.ClearedStatus{UID: proof.UID, Generation: proof.Generation, StorageVersion: proof.StorageVersion}
	}
	return r
}

// leaving are the reasons of verdicts that find objects, or may do so, that no client can read.
var leaving = []string{v1alpha1.ReasonDeletionFailed, v1alpha1.ReasonDeletionUnproved, v1alpha1.ReasonObjectsFailed}

// MayLeave reports whether objects may be left by what a record says of a CRD that has gone, or is there.
func (r Record) MayLeave(gone bool) bool {
	return r.Left || gone && r.Before != "" && r.Cleared == nil
}

// mayBeLeft reports whether objects may be stored at the versions of a CRD that goes, or has gone.
func (s Situation) mayBeLeft() bool {
	switch {
	case s.Before == "" && s.CRD == nil:
		return s.Left
	case s.Cleared == nil, s.CRD != nil && !s.isCleared():
		return true
	case s.Cleared.StorageVersion != "":
		return slices.Contains(s.Removal.Versions, s.Cleared.StorageVersion)
	}
	isOther := func(version string) bool { return !slices.Contains(s.Cleared.Absent, version) }
	return s.Cleared.UID != "" && slices.ContainsFunc(s.Removal.Versions, isOther)
}

// left reports whether objects may be left after a verdict.
func (s Situation) left(reason string) bool {
	if s.CRD != nil && !s.CRD.Deleting && s.provedAsItIs() {
		return false
	}
	return s.Left || slices.Contains(leaving, reason) || s.Migration != nil && s.Migration.FailedBy[plan.Unreadable] > 0
}

// provedAsItIs reports whether all objects are proved of the CRD as it is now.
func (s Situation) provedAsItIs() bool {
	_, unseen := notSeenYet(s)
	return !unseen && s.proved()
}

// isCleared reports whether the CRD is the one that was cleared, as it was then. To delete it a second time is one generation more.
// https://github.com/kubernetes/apiserver/blob/master/pkg/registry/generic/registry/store.go (markAsDeleting)
func (s Situation) isCleared() bool {
	known := s.Cleared
	if known == nil || known.UID != s.CRD.UID {
		return false
	}
	isSame := known.Generation == s.CRD.Generation || s.CRD.Deleting && known.Generation == s.CRD.Generation-1
	if known.StorageVersion == "" {
		return isSame && !slices.ContainsFunc(known.Absent, s.lists)
	}
	return isSame && known.StorageVersion == s.CRD.StorageVersion
}

// cleared is what is known of the versions by now. A CRD that goes or has gone adds nothing to what was known.
func (s Situation) cleared() *v1alpha1.ClearedStatus {
	if s.CRD == nil {
		if s.Before == "" && !s.Left {
			return &v1alpha1.ClearedStatus{}
		}
		return s.Cleared
	}
	_, unseen := notSeenYet(s)
	known := &v1alpha1.ClearedStatus{UID: s.CRD.UID, Generation: s.CRD.Generation}
	switch {
	case s.isCleared() && s.CRD.Deleting: // what was seen of it stays known, one change after the other
		known.StorageVersion, known.Absent = s.Cleared.StorageVersion, s.Cleared.Absent
	case s.isCleared() && unseen:
		return s.Cleared
	case s.CRD.Deleting:
		return nil
	case s.provedAsItIs():
		known.StorageVersion = s.CRD.StorageVersion
	case len(s.present()) == 0 && !s.left(""):
		known.Absent = slices.Clone(s.Removal.Versions)
	default:
		return nil
	}
	return known
}
