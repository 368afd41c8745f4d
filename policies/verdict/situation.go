package verdict

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// Situation is everything a verdict depends on.
type Situation struct {
	Now time.Time
	// Machine is what the clock shows where Now is earlier, because somebody has set it. Zero: the same.
	Machine time.Time
	// Removal is what is asked for.
	Removal v1alpha1.VersionRemovalSpec
	// Paused reports whether a person has closed the gate by hand.
	Paused bool
	// LabelKey is the label that opts a CRD in.
	LabelKey string
	// CRD is nil if there is no such CRD.
	CRD *CRD
	// Went is how the last CRD of the name went, if one has gone.
	Went Went
	// Migration is how far that of the CRD is; nil if that is not known (yet).
	Migration *plan.MigrationStatus
	// Remembered is what was found safe before this process began, for the same
	// versions as now.
	Remembered *v1alpha1.ProofStatus
	// Record is what was known before, perhaps by an earlier process, or by other VersionRemovals of the CRD if this one is new.
	Record
	// Asked is when this process first saw what is asked for, or when it was last
	// asked to look; ClosedAt is when the verdict was last one that Closes. A gate
	// opens on a survey that began later. Both are of this process' clock.
	Asked, ClosedAt time.Time
	// Looks reports whether this Moult looks for what else names the versions, and
	// References is what it found when it looked last; nil if it has not yet. Noted are
	// the warnings that an earlier process has found that way.
	Looks      bool
	References *References
	Noted      []v1alpha1.Blocker
	// Requested is when this process first saw a request to look that has not been
	// answered; zero if there is none.
	Requested time.Time
	// Every is how often an open gate reports anew when managedFields were looked through.
	Every time.Duration
}

// Went is what a process has seen of a CRD that has gone.
type Went struct {
	// UID and Generation are those that it had last. Empty: how it went was not seen, or not yet.
	UID        string
	Generation int64
	// At is when it was first missed, zero if there is another one by now.
	At time.Time
}

// CRD is the part of a CustomResourceDefinition that matters here.
type CRD struct {
	plan.Subject
	// ResourceVersion is empty where it is not needed.
	ResourceVersion string

	OptedIn bool
	// RepairsOwners reports whether Moult may move owner references to the storage version.
	RepairsOwners bool
	// MigratesStashes reports whether Moult may move stashed copies to a version that stays.
	MigratesStashes bool
	InScope         bool
	Deleting        bool
	// DeletionFailed is why the API server could not delete the objects with it, empty if that did not fail (yet).
	DeletionFailed string
	// WaitsFor are finalizers of others that a deletion waits for.
	WaitsFor       []string
	Versions       []Version
	StoredVersions []string
	// Backup is what the CRD says of its last backup.
	Backup crds.LastBackup
	// LabelOrigin reports who owns the opt-in label.
	LabelOrigin labelorigin.Verdict
}

// Version is one entry of spec.versions.
type Version struct {
	Name   string
	Served bool
}

// Describe is a CRD as it is, for those who look after some API groups; none are all.
func Describe(crd *apiextensionsv1.CustomResourceDefinition, labelKey string, groups []string) *CRD {
	d := &CRD{
		Subject: plan.SubjectOf(crd), ResourceVersion: crd.ResourceVersion,
		OptedIn: crds.OptedIn(crd, labelKey), RepairsOwners: crds.RepairsOwners(crd), MigratesStashes: crds.MigratesStashes(crd),
		InScope: crds.InScope(crd, groups), Deleting: crd.DeletionTimestamp != nil,
		StoredVersions: crd.Status.StoredVersions, LabelOrigin: labelorigin.Of(crd, labelKey),
		Backup: crds.LastBackupOf(crd), DeletionFailed: deletionFailedOf(crd),
	}
	for _, v := range crd.Spec.Versions {
		d.Versions = append(d.Versions, Version{Name: v.Name, Served: v.Served})
	}
	for _, finalizer := range crd.Finalizers {
		if d.Deleting && finalizer != apiextensionsv1.CustomResourceCleanupFinalizer {
			d.WaitsFor = append(d.WaitsFor, finalizer)
		}
	}
	return d
}

// deletionFailedOf is what the API server says of objects that it could not delete with their CRD. Its reasons are InstanceDeletionFailed, and
// InstanceDeletionCheck where some are still there: their finalizers wait for a controller.
// https://github.com/kubernetes/apiextensions-apiserver/blob/master/pkg/controller/finalizer/crd_finalizer.go
func deletionFailedOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, c := range crd.Status.Conditions {
		if crd.DeletionTimestamp != nil && c.Type == apiextensionsv1.Terminating && (c.Reason == notDeleted || c.Reason == "InstanceDeletionCheck") {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// notDeleted is the API server's reason where it could not delete an object of a CRD, or not read it.
const notDeleted = "InstanceDeletionFailed"

// whyNotDeleted is why the CRD's objects are not deleted with it, empty if nothing is known to be in the way. With each attempt the API server
// takes back what it said of the one before, so what failed once counts until the CRD is there to stay.
func (c *CRD) whyNotDeleted(failed bool) string {
	switch {
	case c == nil || !c.Deleting:
		return ""
	case c.DeletionFailed == "" && failed:
		return "deleting them failed, and the API server tries again"
	}
	return c.DeletionFailed
}

// State is what a Verdict amounts to. The set is closed.
type State string

const (
	// Ready: nothing that was looked at holds the versions back.
	Ready State = "Ready"
	// Progressing: not yet, and it can clear without a commit.
	Progressing State = "Progressing"
	// Stalled: not before somebody commits something.
	Stalled State = "Stalled"
)

// Verdict is the answer.
type Verdict struct {
	// Rule is the name of the rule that decided.
	Rule    string
	State   State
	Reason  string
	Message string
	// Blockers hold the removal back; Warnings do not.
	Blockers []v1alpha1.Blocker
	Warnings []v1alpha1.Blocker
	// Progress is set when there is something to count.
	Progress *v1alpha1.Progress
	// StoredAt is at which versions objects may be stored, which is all that is known of them if the CRD goes.
	StoredAt *v1alpha1.StoredAtStatus
	// Proof is set with SafeToRemove.
	Proof *v1alpha1.ProofStatus
	// LastWrite is the latest write at one of the versions seen so far.
	LastWrite time.Time
	// Closes is set if the gate has to be looked at anew before it opens after this.
	Closes bool
	// SurveyFrom is since when a survey is wanted that is not there yet; zero if
	// none is.
	SurveyFrom time.Time
	// LookFrom is since when a look through the cluster is wanted that is not there
	// yet, or from when on the next one is; zero if none is.
	LookFrom time.Time
	// Answered reports whether a request to look is answered by this.
	Answered bool
	// Until is when to ask again without being woken, later than now; zero for never.
	Until time.Time
}

// present are the asked versions that the CRD still has, in its spec or stored.
func (s Situation) present() (versions []string) {
	for _, v := range s.Removal.Versions {
		if s.lists(v) || slices.Contains(s.CRD.StoredVersions, v) {
			versions = append(versions, v)
		}
	}
	return versions
}

// Removable are the asked versions that can go by a commit: none if the CRD goes itself, or
// if the storage version is among those that are asked for.
func (s Situation) Removable() []string {
	if s.CRD.Deleting || slices.Contains(s.Removal.Versions, s.CRD.StorageVersion) {
		return nil
	}
	return s.present()
}

func (s Situation) lists(version string) bool {
	return slices.ContainsFunc(s.CRD.Versions, func(v Version) bool { return v.Name == version })
}

// names are the versions the CRD has.
func (s Situation) names() []string {
	return words.Of(s.CRD.Versions, func(v Version) string { return v.Name })
}

// stored are the asked versions that storedVersions names.
func (s Situation) stored() (versions []string) {
	for _, v := range s.Removal.Versions {
		if slices.Contains(s.CRD.StoredVersions, v) {
			versions = append(versions, v)
		}
	}
	return versions
}

// served are the asked versions that are still served.
func (s Situation) served() (versions []string) {
	for _, v := range s.CRD.Versions {
		if v.Served && slices.Contains(s.Removal.Versions, v.Name) {
			versions = append(versions, v.Name)
		}
	}
	return versions
}

// proved reports whether the proof is our own, of this CRD's UID, generation and
// storage version, and nothing speaks against it now.
func (s Situation) proved() bool {
	e := s.Migration.Evidence
	return e.Proved && e.Subject == s.CRD.Subject && s.Migration.Decision.Reason == v1alpha1.ReasonMigrated
}

// surveyed reports whether no object's managedFields named the versions when they
// were last looked through. A survey that is repeated does not close the gate
// again; one that found something it cannot fix does.
func (s Situation) surveyed() bool {
	survey := s.Migration.Evidence.Survey
	if survey.Failure != nil || len(s.losses(true)) > 0 {
		return false
	}
	return survey.Covers(s.wanted()) || s.remembered()
}

// wanted is what a survey has to answer.
func (s Situation) wanted() plan.Removal {
	return plan.Removal{Versions: s.present(), Quiet: s.Quiet()}
}

// remembered reports whether the very same was found safe before this process
// began, so that a restart does not close the gate.
func (s Situation) remembered() bool {
	r := s.Remembered
	return r != nil && r.UID == s.CRD.UID && r.Generation == s.CRD.Generation && r.StorageVersion == s.CRD.StorageVersion
}

// hearing is how long the watch may take to show how a CRD went.
const hearing = 2 * time.Second

// StillHolds reports whether a verdict is only that the migration has not looked yet,
// right after a start, while the very same was found safe before. What was said
// then holds until it has. So it does until the watch shows how a CRD went.
func (s Situation) StillHolds(v Verdict) bool {
	if s.CRD == nil {
		return s.wentUnseen() && s.Now.Sub(s.Went.At) < hearing
	}
	return v.Rule == NotSeenYet && s.Migration == nil && s.remembered() && len(s.stored()) == 0
}
