package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// Record is what a VersionRemoval knows of its CRD, whatever was asked for when it was found out.
type Record struct {
	// Before is the reason of the last answer, empty if there was none.
	Before string
	// StoredAt is at which versions objects may be stored, nil if that is not known. Without a generation, there is no such CRD.
	StoredAt *v1alpha1.StoredAtStatus
	// LastWrite is the latest write at one of its versions; zero if none is known.
	LastWrite time.Time
}

// RecordOf reads the status of a VersionRemoval. An older Moult has left the proof and the reason alone.
func RecordOf(removal *v1alpha1.VersionRemoval) (r Record) {
	r.StoredAt = removal.Status.StoredAt
	if at := removal.Status.LastWriteAt; at != nil {
		r.LastWrite = at.Time
	}
	ready := meta.FindStatusCondition(removal.Status.Conditions, "Ready")
	if ready == nil {
		return r
	}
	r.Before = ready.Reason
	switch proof := removal.Status.Proof; {
	case r.StoredAt != nil:
	case r.Before == v1alpha1.ReasonNothingStored:
		r.StoredAt = &v1alpha1.StoredAtStatus{}
	case proof != nil:
		r.StoredAt = &v1alpha1.StoredAtStatus{UID: proof.UID, Generation: proof.Generation, Versions: []string{proof.StorageVersion}, Complete: true}
	case r.Before == v1alpha1.ReasonDeletionFailed, r.Before == v1alpha1.ReasonDeletionUnproved, r.Before == v1alpha1.ReasonObjectsFailed:
		r.StoredAt = &v1alpha1.StoredAtStatus{Versions: anyVersion}
	}
	return r
}

// anyVersion is that it is not known at which versions objects are stored.
var anyVersion = []string{v1alpha1.AnyVersion}

// MayLeave reports whether objects may be left at one of some versions if the CRD has gone. A VersionRemoval that has yet to be answered, and has
// learnt nothing of others, is of a CRD that never was.
func (r Record) MayLeave(versions []string) bool {
	if r.StoredAt == nil {
		return r.Before != ""
	}
	return mayBeAt(r.StoredAt.Versions, versions)
}

// mayBeAt reports whether objects that may be stored at some versions may be at one of others.
func mayBeAt(stored, versions []string) bool {
	return slices.Contains(stored, v1alpha1.AnyVersion) || overlap(stored, versions)
}

func overlap(some, others []string) bool {
	return slices.ContainsFunc(others, func(v string) bool { return slices.Contains(some, v) })
}

// LearnLastWrite takes in when another VersionRemoval of the CRD has seen a write at one of some versions.
func (r *Record) LearnLastWrite(other *v1alpha1.VersionRemoval, versions []string) {
	if at := other.Status.LastWriteAt; at != nil && overlap(other.Spec.Versions, versions) {
		r.LastWrite = latest(r.LastWrite, at.Time)
	}
}

// Learn is what one that is new learns of the others of its CRD. If the CRD has gone, what one of them does not know may be left.
func Learn(others []Record, gone bool) Record {
	var learnt v1alpha1.StoredAtStatus
	isLearnt, isComplete := false, true
	for _, other := range others {
		switch known := other.StoredAt; {
		case known != nil:
			isComplete = isComplete && (known.Complete || known.Generation == 0)
			if known.Generation > learnt.Generation || learnt.UID == "" {
				learnt.UID, learnt.Generation = known.UID, known.Generation
			}
			learnt.Versions = append(learnt.Versions, known.Versions...)
			isLearnt = true
		case gone && other.Before != "":
			learnt.Versions = append(learnt.Versions, v1alpha1.AnyVersion)
			isLearnt = true
		}
	}
	if !isLearnt {
		return Record{}
	}
	learnt.Versions, learnt.Complete = shortest(learnt.Versions), isComplete && learnt.Generation > 0
	return Record{StoredAt: &learnt}
}

// shortest is a list of versions that fits into a status. No version has a longer name, though storedVersions may hold one.
func shortest(versions []string) []string {
	const most, longest = 64, 63
	versions = slices.DeleteFunc(versions, func(v string) bool { return len(v) > longest })
	if versions = words.Distinct(versions); len(versions) > most || slices.Contains(versions, v1alpha1.AnyVersion) {
		return anyVersion
	}
	slices.Sort(versions)
	return versions
}

// storedAt is at which versions objects may be stored by now. Objects are written at the storage version alone, but what was written before Moult
// saw the CRD may be at any version that it has, or gets back. Only after a proof all versions are known, as long as each change is seen. Nothing
// else takes one away: objects may be left of a CRD that was there before. One that goes is not looked at any more, and to
// delete it a second time is one generation more.
// https://github.com/kubernetes/apiserver/blob/master/pkg/registry/generic/registry/store.go (markAsDeleting)
func (s Situation) storedAt() *v1alpha1.StoredAtStatus {
	known := s.known()
	if s.CRD == nil {
		return known
	}
	is := &v1alpha1.StoredAtStatus{UID: s.CRD.UID, Generation: s.CRD.Generation}
	isNext := known != nil && known.Generation > 0 && known.UID == is.UID && (known.Generation == is.Generation || known.Generation == is.Generation-1)
	switch {
	case !s.CRD.Deleting && s.provedAsItIs():
		is.Versions, is.Complete = []string{s.CRD.StorageVersion}, true
		return is
	case known != nil:
		is.Versions = slices.Clone(known.Versions)
	}
	is.Versions = append(is.Versions, s.CRD.StorageVersion)
	isUnreadable := s.Migration != nil && s.Migration.FailedBy[plan.Unreadable] > 0
	is.Complete = isNext && known.Complete && (s.CRD.Deleting || isUnreadable || !s.isProving())
	if !is.Complete && (isUnreadable || strings.HasPrefix(s.CRD.DeletionFailed, notDeleted)) {
		is.Versions = anyVersion // that may be why
		return is
	}
	if !is.Complete {
		is.Versions = slices.Concat(is.Versions, s.names(), s.CRD.StoredVersions)
	}
	is.Versions = shortest(is.Versions)
	return is
}

// known is what was known, in the light of how the last CRD of the name went. It says nothing of one that came and went unseen, or that was changed
// before it went. Of one that goes, a deletion alone is no other generation.
func (s Situation) known() *v1alpha1.StoredAtStatus {
	known := s.StoredAt
	switch {
	case known == nil && s.Before == "" && s.CRD == nil:
		return &v1alpha1.StoredAtStatus{UID: s.Went.UID} // one that is new doubts none that went before
	case known == nil, s.CRD != nil && s.CRD.UID == known.UID, s.CRD == nil && s.wentUnseen():
		return known
	case known.Generation == 0 && (s.Went.UID == "" || s.Went.UID == known.UID):
		return known
	case s.Went.UID != known.UID, known.Generation < s.Went.Generation:
		return &v1alpha1.StoredAtStatus{UID: s.Went.UID, Versions: anyVersion}
	default:
		return &v1alpha1.StoredAtStatus{UID: known.UID, Versions: known.Versions}
	}
}

// wentUnseen reports whether the CRD that something is known of has gone, and this process has not seen how.
func (s Situation) wentUnseen() bool {
	known := s.StoredAt
	return known != nil && known.Generation > 0 && (s.CRD == nil || s.CRD.UID != known.UID) && s.Went.UID != known.UID
}

// provedAsItIs reports whether all objects are proved of the CRD as it is now.
func (s Situation) provedAsItIs() bool {
	_, unseen := notSeenYet(s)
	return !unseen && s.proved()
}

// isProving reports whether objects are looked at, so that what was proved before is in doubt.
func (s Situation) isProving() bool {
	if _, unseen := notSeenYet(s); unseen || s.Migration.Decision.Step == plan.Hold {
		return false
	}
	return !s.Migration.Evidence.Proved || s.Migration.Evidence.Subject != s.CRD.Subject
}

// mayBeLeft reports whether objects may be stored at the versions of a CRD that goes, or has gone.
func (s Situation) mayBeLeft() bool {
	return s.CRD == nil && s.wentUnseen() || Record{Before: s.Before, StoredAt: s.storedAt()}.MayLeave(s.Removal.Versions)
}

// mayBeUnreadable holds the gate until it is proved that no object was left by a CRD that does not have the versions any more. A process that has
// not looked yet knows no better than the one before. Without the label none looks, and it holds for what is known alone.
func (s Situation) mayBeUnreadable() (Verdict, bool) {
	why, action := fmt.Sprintf("objects of %s may be left that cannot be read, and it has yet to be proved that none is", s.Removal.CRDName), withoutGate
	if s.Migration != nil && s.Migration.Decision.Sentence != "" {
		why += ": " + s.Migration.Decision.Sentence
	}
	if !s.CRD.OptedIn {
		action = s.howToOptIn() + "; " + withoutGate
		return progressing(v1alpha1.ReasonObjectsFailed, why, action), slices.Contains(s.storedAt().Versions, v1alpha1.AnyVersion)
	}
	return progressing(v1alpha1.ReasonObjectsFailed, why, action), s.mayBeLeft() && s.CRD.InScope && (s.Migration == nil || !s.proved())
}
