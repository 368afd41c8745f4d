package snapshot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/verdict"
	"github.com/moult-dev/moult/policies/words"
)

// Ask is what a pull request wants.
type Ask struct {
	// CRD is the name of the CRD, and Versions are those that leave it.
	CRD      string
	Versions []string
	// Storage is the storage version of the pull request's CRD, which is what clients should use; empty if it is not
	// known. The cluster's may be the very version that leaves.
	Storage string
	// LabelKey opts CRDs in; empty for the one that the snapshot was taken with.
	LabelKey string
	// HeadLabel reports whether the pull request's CRD carries the opt-in label, which the cluster's gets only after the
	// removal; nil if that does not matter.
	HeadLabel *bool
	// Terms are those of the pull request's VersionRemoval; nil for those of the one in the cluster, if there is one.
	Terms *Terms
	// MaxAge is how old the snapshot may be without a warning; 0 for any age.
	MaxAge time.Duration
}

// Terms are what a VersionRemoval asks for beside safe storage.
type Terms struct {
	Require     []v1alpha1.Requirement
	QuietPeriod time.Duration
}

// remember is what remains of a proof when the VersionRemoval that has it asks for more: what names the versions is
// looked for anew then.
func (t *Terms) remember(gate *Removal, proof *v1alpha1.ProofStatus) *v1alpha1.ProofStatus {
	isNew := func(r v1alpha1.Requirement) bool { return !slices.Contains(gate.Spec.Require, r) }
	if proof == nil || !slices.ContainsFunc(t.Require, isNew) {
		return proof
	}
	left := *proof
	left.ReferencesAt = nil
	return &left
}

// Answer is what the removal would mean in the cluster.
type Answer struct {
	// Verdict is what the gate would say. If the answer is not Known, it is at most what is missing; never Ready.
	verdict.Verdict
	// Known reports whether the snapshot shows enough for a verdict, and if not, Why says what does not show and what to do.
	Known bool
	Why   string

	// StoredVersions are the CRD's.
	StoredVersions []string
	// Objects is how many there are; nil if they were not counted.
	Objects *int64
	// Proved: every object is proved to be stored at the storage version.
	Proved bool
	// RepairOnly: the storage is proved and trimmed. All that remains is that managedFields name the versions, or were
	// not looked at. The controller fixes that by itself as soon as a VersionRemoval asks; without one, the removal
	// makes the API server forget who owns what.
	RepairOnly bool
	// Gate is the VersionRemoval in the cluster that is about these versions; nil if there is none, or none was read.
	Gate *Gate
	// Extra are warnings that no VersionRemoval shows.
	Extra []v1alpha1.Blocker
}

// Gate is a VersionRemoval in the cluster and what it says.
type Gate struct {
	// Name is namespace/name.
	Name  string
	Ready bool
}

// Judge answers as the gate would have at the moment the snapshot was taken; now only serves to report how old it is.
// The cluster's CRD is the one before the pull request, which is what a gate sees, too.
func (s *Snapshot) Judge(ask Ask, now time.Time) Answer {
	if ask.LabelKey != "" && ask.LabelKey != s.LabelKey {
		return unknown("the snapshot was taken for the opt-in label %s, not for %s; take one with --label-key %[2]s", s.LabelKey, ask.LabelKey)
	}
	crd := s.CRD(ask.CRD)
	if crd == nil {
		if why := s.whyAbsent(ask.CRD); why != "" {
			return unknown("%s", why)
		}
		return Answer{Known: true, Verdict: verdict.Judge(s.situation(ask, nil, nil)), Extra: s.outdated(ask, now)}
	}
	gate := s.gate(ask.CRD, ask.Versions)
	situation := s.situation(ask, crd, gate)
	a := Answer{
		Verdict: verdict.Judge(situation), Known: true, StoredVersions: crd.StoredVersions, Proved: proved(situation),
		Gate: describe(gate),
	}
	if crd.Objects != nil {
		a.Objects = new(crd.Objects.Count)
	}
	switch {
	case situation.StillHolds(a.Verdict) && gate.ready() && situation.LacksBackup() == "":
		a.Verdict = remembered(situation, gate)
	case situation.Migration == nil && a.Rule == verdict.NotSeenYet && !s.moultSeen():
		a.Known = false
		a.Why = fmt.Sprintf("it is not proved at which version the objects of %s are stored, and the snapshot shows no Moult in this cluster. Install Moult, or run `moult migrate %[1]s` once, and take the snapshot again", crd.Name)
	case a.Reason == v1alpha1.ReasonNotOptedIn && gate == nil && ask.Terms == nil && crd.clean(ask.Versions):
		a.withoutMoult(crd, ask)
	case a.Rule == verdict.NotLookedForReferences && !situation.Looks:
		a.Known = false
		a.Why = fmt.Sprintf("the VersionRemoval requires that nothing else names %s of %s, and the snapshot does not show that: take it with --references", strings.Join(ask.Versions, ", "), crd.Name)
	case a.Rule == verdict.NotBackedUp && crd.Backup == nil:
		a.Known = false
		a.Why = fmt.Sprintf("the VersionRemoval requires a backup of %s, and the snapshot does not show backups: take it anew with this Moult", crd.Name)
	case a.Rule == verdict.OwnershipNotRepaired:
		a.RepairOnly = situation.Migration.Evidence.Survey.Failure == nil
	}
	a.Extra = s.extra(ask, crd, gate, now, a.RepairOnly)
	return a
}

// withoutMoult answers for a CRD that is not opted in, and that nothing waits for: the API server accepts the removal.
// What remains to be known is whether objects are stored at the versions. If there are none at all, none are.
func (a *Answer) withoutMoult(crd *CRD, ask Ask) {
	if *a.Objects == 0 {
		a.Verdict = verdict.Verdict{State: verdict.Ready, Reason: v1alpha1.ReasonNothingStored, Message: crd.Name + " has no objects, and storedVersions is " + list(crd.StoredVersions)}
		return
	}
	a.Known = false
	a.Why = fmt.Sprintf("the API server accepts it, because storedVersions of %s is %s. But somebody may have edited that list: nothing proves that no object is stored at %s. Add the opt-in label, or run `moult migrate %[1]s` once, and take the snapshot again",
		crd.Name, list(crd.StoredVersions), strings.Join(ask.Versions, " or "))
}

func list(versions []string) string { return "[" + strings.Join(versions, ", ") + "]" }

// client is the version that clients should use: one that stays.
func (ask Ask) client(crd *CRD) string {
	stays := func(version string) bool { return version != "" && !slices.Contains(ask.Versions, version) }
	if stays(ask.Storage) {
		return ask.Storage
	}
	if storage := crd.storage().Name; stays(storage) {
		return storage
	}
	for _, v := range slices.Backward(crd.Versions) {
		if v.Served && stays(v.Name) {
			return v.Name
		}
	}
	return "a version that stays"
}

func unknown(format string, args ...any) Answer { return Answer{Why: fmt.Sprintf(format, args...)} }

// whyAbsent says why a CRD that is not in the snapshot may be in the cluster; empty if it is not.
func (s *Snapshot) whyAbsent(crd string) string {
	if len(s.Named) > 0 && !slices.Contains(s.Named, crd) {
		return fmt.Sprintf("the snapshot was taken of other CRDs (%s); take one of %s, or of all", strings.Join(s.Named, ", "), crd)
	}
	for _, missing := range []*NotRead{s.notRead(CRDs, ""), s.notRead(OneCRD, crd)} {
		if missing != nil {
			return fmt.Sprintf("whether the cluster has %s is not known: %s", crd, missing.Why)
		}
	}
	return ""
}

// situation is what the gate would have been asked about.
func (s *Snapshot) situation(ask Ask, crd *CRD, gate *Removal) verdict.Situation {
	situation := verdict.Situation{
		Now: s.TakenAt, LabelKey: s.LabelKey,
		Removal: v1alpha1.VersionRemovalSpec{CRDName: ask.CRD, Versions: ask.Versions},
	}
	if gate != nil {
		situation.Paused = gate.Paused
		situation.Removal.Require, situation.Removal.QuietPeriod = gate.Spec.Require, gate.Spec.QuietPeriod
		if gate.ObservedGeneration == gate.Generation {
			situation.Remembered = gate.Proof
		}
		if gate.LastWriteAt != nil {
			situation.LastWrite = slices.MinFunc([]time.Time{*gate.LastWriteAt, s.TakenAt}, time.Time.Compare)
		}
	}
	if ask.Terms != nil {
		situation.Removal.Require, situation.Removal.QuietPeriod = ask.Terms.Require, metav1.Duration{Duration: ask.Terms.QuietPeriod}
		situation.Remembered = ask.Terms.remember(gate, situation.Remembered)
	}
	if crd == nil {
		return situation
	}
	situation.CRD = &verdict.CRD{
		Subject: crd.subject(), OptedIn: crd.OptedIn, RepairsOwners: crd.RepairsOwners, MigratesStashes: crd.MigratesStashes,
		Deleting: crd.Deleting, StoredVersions: crd.StoredVersions,
		InScope:     gate == nil || !gate.answered() || gate.Ready.Reason != v1alpha1.ReasonOutOfScope,
		LabelOrigin: labelorigin.Of(crd.metadata(s.LabelKey), s.LabelKey),
	}
	if crd.Backup != nil {
		situation.CRD.Backup = *crd.Backup
	}
	situation.CRD.Versions = words.Of(crd.Versions, func(v Version) verdict.Version { return verdict.Version{Name: v.Name, Served: v.Served} })
	situation.Migration = s.migration(crd, ask.Versions, gate)
	if crd.References != nil {
		_, group, _ := strings.Cut(crd.Name, ".")
		situation.Looks = true
		situation.References = &verdict.References{At: s.TakenAt, Report: crd.References.Of(crd.Name, group, ask.Versions)}
	}
	return situation
}

// proved reports whether the proof stands for the CRD as it is.
func proved(s verdict.Situation) bool {
	return s.Migration != nil && s.Migration.Evidence.Proved && s.Migration.Subject == s.CRD.Subject && s.Migration.Decision.Reason == v1alpha1.ReasonMigrated
}

// remembered is what an open gate says of the very same CRD while the migration's own condition does not show.
func remembered(s verdict.Situation, gate *Removal) verdict.Verdict {
	return verdict.Verdict{Rule: "SafeToRemove", State: verdict.Ready, Reason: gate.Ready.Reason, Message: gate.Ready.Message, Proof: s.Remembered, LastWrite: s.LastWrite}
}

// moultSeen reports whether anything shows that a Moult is at work in the cluster.
func (s *Snapshot) moultSeen() bool {
	return slices.ContainsFunc(s.CRDs, func(c CRD) bool { m := c.condition(v1alpha1.StorageMigrated); return m != nil && m.Ours }) ||
		slices.ContainsFunc(s.Removals, func(r Removal) bool { return r.Ready != nil })
}

func describe(gate *Removal) *Gate {
	if gate == nil {
		return nil
	}
	return &Gate{Name: gate.id(), Ready: gate.ready()}
}
