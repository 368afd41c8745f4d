package verdict

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// mayBeLeft reports whether objects may be stored at the versions of a CRD that goes, or has gone.
func (s Situation) mayBeLeft() bool {
	switch {
	case s.Before == "" && s.CRD == nil:
		return s.LeftBeside
	case s.Cleared == nil, s.CRD != nil && !s.isCleared():
		return true
	case s.Cleared.StorageVersion != "":
		return slices.Contains(s.Removal.Versions, s.Cleared.StorageVersion)
	}
	isOther := func(version string) bool { return !slices.Contains(s.Cleared.Absent, version) }
	return s.Cleared.UID != "" && slices.ContainsFunc(s.Removal.Versions, isOther)
}

// LeftBy reports whether objects may be stored at some versions by what a VersionRemoval knows of its CRD, which has gone.
func LeftBy(removal *v1alpha1.VersionRemoval, versions []string) bool {
	ready := meta.FindStatusCondition(removal.Status.Conditions, "Ready")
	if ready == nil {
		return false
	}
	s := Situation{Removal: v1alpha1.VersionRemovalSpec{Versions: versions}, Before: ready.Reason, Cleared: removal.Status.Cleared}
	return s.Before == v1alpha1.ReasonDeletionFailed || s.mayBeLeft()
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
		if s.Before == "" && !s.LeftBeside {
			return &v1alpha1.ClearedStatus{}
		}
		return s.Cleared
	}
	_, unseen := notSeenYet(s)
	_, unreadable := leftUnreadable(s)
	switch {
	case s.CRD.Deleting && !s.isCleared():
		return nil
	case s.CRD.Deleting, unseen && s.isCleared():
		return s.Cleared
	case unreadable:
		return nil
	}
	known := &v1alpha1.ClearedStatus{UID: s.CRD.UID, Generation: s.CRD.Generation}
	switch {
	case !unseen && s.proved():
		known.StorageVersion = s.CRD.StorageVersion
	case len(s.present()) == 0:
		known.Absent = slices.Clone(s.Removal.Versions)
	default:
		return nil
	}
	return known
}
