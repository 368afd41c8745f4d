package verdict

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// rule is one line of the specification.
type rule struct {
	name  string
	judge func(Situation) (Verdict, bool)
	// closes marks what may last for long, and in which anything may be written: a
	// gate that opens after it has managedFields looked through once more.
	closes bool
}

// rules are asked in this order and the first that holds decides. Where nothing is stored comes first, then what only a
// commit can fix, then what the migration is still doing. Then comes what was asked for beside, and right before the
// gate opens a last look.
var rules = []rule{
	{LeftInEtcd, leftInEtcd, true},
	{"Paused", paused, true},
	{"NothingStored", nothingStored, false},
	{"CRDIsGoing", crdIsGoing, true},
	{"LeftUnreadable", leftUnreadable, true},
	{"AlreadyRemoved", alreadyRemoved, false},
	{"StillTheStorageVersion", stillTheStorageVersion, true},
	{"NotOptedIn", notOptedIn, true},
	{"OutOfScope", outOfScope, true},
	{NotSeenYet, notSeenYet, true},
	{"NotProved", notProved, true},
	{"NotTrimmed", notTrimmed, false},
	{OwnershipNotRepaired, ownershipNotRepaired, false},
	{"StillServed", stillServed, true},
	{"StillWritten", stillWritten, true},
	{"StillReferenced", stillReferenced, true},
	{"StillStashed", stillStashed, true},
	{"ReferencesUnknown", referencesUnknown, true},
	{NotBackedUp, notBackedUp, true},
	{"NotSeenQuiet", notSeenQuiet, false},
	{"StillLanding", stillLanding, false},
	{"LookedTooEarly", lookedTooEarly, false},
	{NotLookedForReferences, notLookedForReferences, false},
	{"SafeToRemove", safeToRemove, false},
}

// The rules that others ask about, by their names.
const (
	// LeftInEtcd: objects may be left in etcd without their CRD.
	LeftInEtcd = "LeftInEtcd"
	// NotSeenYet: the migration has not looked at the CRD as it is now.
	NotSeenYet = "NotSeenYet"
	// OwnershipNotRepaired: managedFields still name a version that is to go, or were not looked at.
	OwnershipNotRepaired = "OwnershipNotRepaired"
	// NotBackedUp: spec.require asks for a backup, and none of the CRD as it is now is known.
	NotBackedUp = "NotBackedUp"
	// NotLookedForReferences: spec.require asks what else names the versions, and that was not looked for.
	NotLookedForReferences = "NotLookedForReferences"
)

// Judge asks the rules in order. The last rule always holds.
func Judge(s Situation) Verdict {
	for _, r := range rules {
		v, ok := r.judge(s)
		if !ok {
			continue
		}
		v.Rule, v.LastWrite = r.name, s.lastWrite()
		v.Closes, v.Answered = r.closes, s.answered()
		if !v.Until.After(s.Now) {
			v.Until = time.Time{} // what was waited for is under way, and its end is news
		}
		v.StoredAt = s.storedAt()
		v.Warnings = s.warnOfLabelOrigin(s.warnOfLosses(s.warnOfReferences(v)))
		return v
	}
	panic("verdict: the last rule must always hold")
}

// paused: a person has closed the gate.
func paused(s Situation) (Verdict, bool) {
	return progressing(v1alpha1.ReasonPaused, fmt.Sprintf("the gate for %s is closed by hand", s.Removal.CRDName),
		fmt.Sprintf("remove the annotation %s from this VersionRemoval", v1alpha1.PausedAnnotation)), s.Paused
}

// leftInEtcd: the CRD cannot be deleted with its objects, or was not seen to be. A CRD whose finalizer is taken off goes without them,
// and nothing can read them until it comes back. It comes before Paused, since the reason is remembered by the status alone.
func leftInEtcd(s Situation) (Verdict, bool) {
	const orAnew = "or, if no object is left in etcd, delete all VersionRemovals of this CRD, and have them made anew once none is there"
	if why := s.CRD.whyNotDeleted(s.Before == v1alpha1.ReasonDeletionFailed); why != "" {
		return progressing(v1alpha1.ReasonDeletionFailed, fmt.Sprintf("the CRD %s is being deleted, and its objects cannot be: %s", s.Removal.CRDName, why),
			"make that possible: bring up the conversion webhook, or what the objects' finalizers wait for; without the CRD's own finalizer, its objects stay in etcd where nothing can read them"), true
	}
	isLeft := s.CRD == nil && s.mayBeLeft()
	if s.Before == v1alpha1.ReasonDeletionFailed {
		return progressing(v1alpha1.ReasonDeletionFailed,
			fmt.Sprintf("there is no CRD %s any more, and the API server could not delete its objects: they may be left in etcd at %s", s.Removal.CRDName, list(s.Removal.Versions)),
			"bring the CRD back with these versions, and remove them later; "+orAnew), isLeft
	}
	return progressing(v1alpha1.ReasonDeletionUnproved,
		fmt.Sprintf("there is no CRD %s any more, and its objects were not proved free of %s: if its finalizer was taken off, they are left in etcd", s.Removal.CRDName, list(s.Removal.Versions)),
		"if so, bring the CRD back with these versions, and remove them later; "+orAnew), isLeft
}

// nothingStored: first install, fresh cluster, restore. A gate that waited here
// would wait for what it holds back.
func nothingStored(s Situation) (Verdict, bool) {
	return ready(v1alpha1.ReasonNothingStored,
		fmt.Sprintf("there is no CRD %s, so nothing that can be read is stored at %s", s.Removal.CRDName, list(s.Removal.Versions))), s.CRD == nil
}

// crdIsGoing: all objects go with it, if the API server has its way, and so do others whose finalizers it has.
func crdIsGoing(s Situation) (Verdict, bool) {
	if s.CRD == nil || !s.CRD.Deleting {
		return Verdict{}, false
	}
	if s.mayBeLeft() {
		return progressing(v1alpha1.ReasonDeletionUnproved, fmt.Sprintf("the CRD %s is being deleted, and it is not proved that no object is stored at %s", s.Removal.CRDName, list(s.Removal.Versions)),
			"let the API server delete the objects with it; without the CRD's own finalizer, they stay in etcd where nothing can read them"), true
	}
	v := progressing(v1alpha1.ReasonNotEstablished, fmt.Sprintf("the CRD %s is being deleted", s.Removal.CRDName), "")
	if len(s.CRD.WaitsFor) > 0 {
		v = progressing(v.Reason, fmt.Sprintf("%s, and waits for the finalizers of others: %s", v.Message, list(s.CRD.WaitsFor)),
			"see what holds those who own the finalizers; the CRD's own is the API server's")
	}
	return v, true
}

// leftUnreadable: the versions went too early, and what is stored at them can be read again only when they are back.
func leftUnreadable(s Situation) (Verdict, bool) {
	if len(s.present()) > 0 {
		return Verdict{}, false
	}
	if s.Migration == nil || s.Migration.FailedBy[plan.Unreadable] == 0 {
		return s.mayBeUnreadable()
	}
	v := s.held(s.Migration.Decision.Reason, s.Migration.Decision.Sentence)
	v.Message = sentence(v.Message, withoutGate)
	for i := range v.Blockers {
		v.Blockers[i].Action += "; " + withoutGate
	}
	return v, true
}

// alreadyRemoved: after the commit has been applied. It stays Ready while the objects are checked, or cannot be: to hold back now
// would keep no version.
func alreadyRemoved(s Situation) (Verdict, bool) {
	message := fmt.Sprintf("%s has no %s (it has %s), so nothing is held back", s.Removal.CRDName, list(s.Removal.Versions), list(s.names()))
	if s.Migration == nil || !s.proved() {
		message += "; it is not proved that all objects can be read"
	}
	return ready(v1alpha1.ReasonAlreadyRemoved, message), len(s.present()) == 0
}

// stillTheStorageVersion: a release was skipped, or the flip and the removal are
// in one commit. The API server needs a state in between.
func stillTheStorageVersion(s Situation) (Verdict, bool) {
	v := s.CRD.StorageVersion
	return stalled(v1alpha1.ReasonIntermediateRevisionRequired,
		fmt.Sprintf("%s is still the storage version of %s, so new objects are stored at it", v, s.Removal.CRDName),
		fmt.Sprintf("first commit a manifest of %s with %s (storage: false) and a newer version (storage: true); leave this VersionRemoval and the removal of %s to a later commit", s.Removal.CRDName, v, v)), slices.Contains(s.Removal.Versions, v)
}

// notOptedIn: we may not write, so we cannot prove either.
func notOptedIn(s Situation) (Verdict, bool) {
	what := "storedVersions is clean, but it is not proved that the objects are"
	if stored := s.stored(); len(stored) > 0 {
		what = fmt.Sprintf("storedVersions still names %s", list(stored))
	}
	return stalled(v1alpha1.ReasonNotOptedIn,
		fmt.Sprintf("%s lacks the label %s: %q, so its objects may not be rewritten; %s", s.Removal.CRDName, s.LabelKey, v1alpha1.MigrateLabelValue, what),
		s.howToOptIn()+"; "+withoutGate), !s.CRD.OptedIn
}

// outOfScope: another controller's to migrate.
func outOfScope(s Situation) (Verdict, bool) {
	return stalled(v1alpha1.ReasonOutOfScope, fmt.Sprintf("the group of %s is not one that this controller looks after", s.Removal.CRDName),
		"add the group to the controller's flag --crd-groups"), !s.CRD.InScope
}

// notSeenYet: the migration has not looked at the CRD as it is now. It may even have looked at what no longer exists: a
// resourceVersion that is older than the one it has seen means that etcd was restored meanwhile.
func notSeenYet(s Situation) (Verdict, bool) {
	return progressing(v1alpha1.ReasonMigrating, fmt.Sprintf("generation %d of %s has not been looked at yet", s.CRD.Generation, s.Removal.CRDName), ""),
		s.Migration == nil || s.Migration.Subject != s.CRD.Subject || plan.Older(s.CRD.ResourceVersion, s.Migration.Evidence.SeenRV)
}

// notProved: storedVersions is not asked, since anyone may have cleaned it.
func notProved(s Situation) (Verdict, bool) {
	if s.proved() {
		return Verdict{}, false
	}
	d := s.Migration.Decision
	return s.held(d.Reason, d.Sentence), true
}

// notTrimmed: a moment between the proof and the trim.
func notTrimmed(s Situation) (Verdict, bool) {
	return progressing(v1alpha1.ReasonMigrating,
		fmt.Sprintf("every object of %s is proved to be stored at %s; storedVersions still names %s and is about to be trimmed", s.Removal.CRDName, s.CRD.StorageVersion, list(s.stored())), ""), len(s.stored()) > 0
}

// ownershipNotRepaired: once a version no longer exists, entries that name it break server-side apply and are wiped by
// the next write.
func ownershipNotRepaired(s Situation) (Verdict, bool) {
	if s.surveyed() {
		return Verdict{}, false
	}
	survey := s.Migration.Evidence.Survey
	if t := survey.Failure; t != nil {
		v := s.held(t.Reason, t.Message)
		v.Until = survey.NextAt
		return v, true
	}
	if waiting := s.losses(true); len(waiting) > 0 {
		return s.wouldLose(waiting), true
	}
	return s.held(v1alpha1.ReasonRepairingOwnership, fmt.Sprintf("every object is stored at %s; looking for managedFields that still name %s and moving them",
		s.CRD.StorageVersion, list(s.Removal.Versions))), true
}

// stillServed: clients can still use the version.
func stillServed(s Situation) (Verdict, bool) {
	b := servedBlocker(s)
	v := stalled(b.Kind, b.Message, b.Action+"; "+withoutGate)
	v.Warnings = writers(s)
	return v, len(s.served()) > 0 && slices.Contains(s.Removal.Require, v1alpha1.Unserved)
}

// stillWritten: somebody has not noticed yet.
func stillWritten(s Situation) (Verdict, bool) {
	quiet := s.quietFrom()
	return Verdict{State: Progressing, Reason: v1alpha1.ReasonStillWritten, Blockers: writers(s), Until: quiet,
			Message: s.written(fmt.Sprintf(", less than %s ago", s.Removal.QuietPeriod.Duration))},
		quiet.After(s.Now) && slices.Contains(s.Removal.Require, v1alpha1.Quiet)
}

// notSeenQuiet: the quiet period has passed since the last write that is known, and it was not looked since whether
// there was another one.
func notSeenQuiet(s Situation) (Verdict, bool) {
	return Verdict{State: Progressing, Reason: v1alpha1.ReasonStillWritten, Blockers: writers(s), SurveyFrom: s.quietFrom(),
			Message: s.written(fmt.Sprintf("; looking whether it has been quiet for %s since", s.Removal.QuietPeriod.Duration))},
		slices.Contains(s.Removal.Require, v1alpha1.Quiet) && !s.remembered() && s.Migration.Evidence.Survey.At.Before(s.quietFrom())
}

// stillLanding: the version is not served any more, but an API server that has not
// heard of it may still take a write at it.
func stillLanding(s Situation) (Verdict, bool) {
	until := s.landedBy()
	v := s.held(v1alpha1.ReasonSettling, fmt.Sprintf("every object is stored at %s; waiting until no API server can still take a write at %s, which is not served any more",
		s.CRD.StorageVersion, list(s.Removal.Versions)))
	v.Until = until
	return v, !s.remembered() && until.After(s.Now)
}

// lookedTooEarly: what was written since the managedFields were last looked
// through is moved before the gate opens, too. An open gate stays open.
func lookedTooEarly(s Situation) (Verdict, bool) {
	v := s.held(v1alpha1.ReasonRepairingOwnership, fmt.Sprintf("every object is stored at %s; looking once more for managedFields that name %s, right before the gate opens",
		s.CRD.StorageVersion, list(s.Removal.Versions)))
	v.SurveyFrom = s.opensFrom()
	return v, !s.remembered() && s.Migration.Evidence.Survey.At.Before(v.SurveyFrom)
}

// safeToRemove: every object is stored at the storage version, and was looked at.
func safeToRemove(s Situation) (Verdict, bool) {
	at := s.lookedAt()
	message := fmt.Sprintf("every object of %s is stored at %s (proved at generation %d), and no managedFields named %s when they were looked through at %s",
		s.Removal.CRDName, s.CRD.StorageVersion, s.CRD.Generation, list(s.Removal.Versions), at.UTC().Format(time.RFC3339))
	served := s.served()
	if len(served) > 0 {
		message += fmt.Sprintf("; %s is still served, so a write since then may name it again: with `require: [%s]` no client can write at it", list(served), v1alpha1.Unserved)
	}
	references := s.referencesAt()
	switch {
	case !s.Looks:
		message += "; other objects that may name it were not looked at"
	case !references.IsZero():
		message += fmt.Sprintf("; nothing else that was looked at named it at %s", references.UTC().Format(time.RFC3339))
	}
	if s.requires(v1alpha1.Backup) {
		message += fmt.Sprintf("; the backup of %s is of the CRD as it is (%s)", s.CRD.Backup.Record.Time.UTC().Format(time.RFC3339), words.Count(s.CRD.Backup.Record.Objects, "object"))
	}
	v := ready(v1alpha1.ReasonSafeToRemove, message)
	v.Proof = &v1alpha1.ProofStatus{
		UID: s.CRD.UID, Generation: s.CRD.Generation, StorageVersion: s.CRD.StorageVersion, SurveyedAt: &metav1.Time{Time: at.Truncate(time.Second)},
	}
	if !references.IsZero() {
		v.Proof.ReferencesAt = &metav1.Time{Time: references.Truncate(time.Second)}
	}
	v.Progress = toProgress(s.Migration.Evidence.Last) // of the proof: a survey under way changes nothing
	v.Warnings = writers(s)
	if len(served) > 0 {
		v.Warnings = append([]v1alpha1.Blocker{servedBlocker(s)}, v.Warnings...)
	}
	return v, true
}
