package verdict

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/survivors"
)

// A situation drawn here is a safe one with a few deviations, each of which may or may not matter. If every part were
// drawn by itself, hardly any gate would open.
var situations = rapid.Custom(func(t *rapid.T) Situation {
	s := safe()
	for _, deviate := range rapid.SliceOfN(rapid.SampledFrom(deviations), 0, 5).Draw(t, "deviations") {
		deviate(t, &s)
	}
	if rapid.IntRange(0, 9).Draw(t, "no standing at 9") == 9 {
		s.Migration = nil
	}
	if rapid.IntRange(0, 9).Draw(t, "no CRD at 9") == 9 {
		s.CRD = nil
	}
	return s
})

var deviations = []func(*rapid.T, *Situation){
	func(t *rapid.T, s *Situation) { s.Paused = rapid.Bool().Draw(t, "paused") },
	func(t *rapid.T, s *Situation) { s.Removal.Versions = versions(1).Draw(t, "asked") },
	func(t *rapid.T, s *Situation) { s.Removal.QuietPeriod.Duration = minutes(t, "quiet period") },
	func(t *rapid.T, s *Situation) {
		s.Removal.Require = rapid.SliceOfNDistinct(rapid.SampledFrom([]v1alpha1.Requirement{v1alpha1.Unserved, v1alpha1.Quiet, v1alpha1.NoReferences, v1alpha1.NoStashes, v1alpha1.Backup}), 0, 5, rapid.ID).Draw(t, "require")
	},
	func(t *rapid.T, s *Situation) {
		parts := []func(*survivors.Report){reference, policy, waits, cosmetic, stash, unreadable, leftOut, damaged}
		found := rapid.SliceOfN(rapid.SampledFrom(parts), 0, 3).Draw(t, "found")
		looks(looked(now.Add(-minutes(t, "looked ago")), found...))(s)
	},
	func(t *rapid.T, s *Situation) { s.CRD.RepairsOwners = rapid.Bool().Draw(t, "repairs owners") },
	func(t *rapid.T, s *Situation) { s.CRD.MigratesStashes = rapid.Bool().Draw(t, "migrates stashes") },
	func(t *rapid.T, s *Situation) { s.LastWrite = now.Add(-minutes(t, "last write")) },
	func(t *rapid.T, s *Situation) { s.CRD.Subject = subjects.Draw(t, "CRD") },
	func(t *rapid.T, s *Situation) { s.CRD.OptedIn = rapid.Bool().Draw(t, "opted in") },
	func(t *rapid.T, s *Situation) { s.CRD.InScope = rapid.Bool().Draw(t, "in scope") },
	func(t *rapid.T, s *Situation) { s.CRD.Deleting = rapid.Bool().Draw(t, "deleting") },
	func(t *rapid.T, s *Situation) { s.CRD.StoredVersions = versions(1).Draw(t, "stored") },
	func(t *rapid.T, s *Situation) {
		s.CRD.Versions = nil
		for _, v := range versions(1).Draw(t, "spec.versions") {
			s.CRD.Versions = append(s.CRD.Versions, Version{v, rapid.Bool().Draw(t, "served")})
		}
	},
	func(t *rapid.T, s *Situation) { s.Migration.Subject = subjects.Draw(t, "standing") },
	func(t *rapid.T, s *Situation) { s.Migration.Evidence.Subject = subjects.Draw(t, "evidence") },
	func(t *rapid.T, s *Situation) { s.Migration.Evidence.Proved = rapid.Bool().Draw(t, "proved") },
	func(t *rapid.T, s *Situation) { s.Migration.Decision.Reason = reasons.Draw(t, "reason") },
	func(t *rapid.T, s *Situation) { s.Migration.Evidence.Survey.Versions = versions(0).Draw(t, "surveyed") },
	func(t *rapid.T, s *Situation) {
		surveyTrouble(reasons.Draw(t, "failure"), "a failure")(s)
		s.Migration.Evidence.Survey.NextAt = now.Add(minutes(t, "surveyed again in") - time.Minute)
	},
	func(t *rapid.T, s *Situation) {
		s.Migration.FailedObjects = rapid.SliceOfN(rapid.Just(plan.FailedObject{Text: "ns/o: Invalid: no"}), 0, 20).Draw(t, "failures")
	},
	func(t *rapid.T, s *Situation) { written("v1alpha1", minutes(t, "written ago"))(s) },
	func(t *rapid.T, s *Situation) { losing(rapid.Bool().Draw(t, "waits"))(s) },
	func(t *rapid.T, s *Situation) { remember(subjects.Draw(t, "remembered"))(s) },
	func(_ *rapid.T, s *Situation) { lookedBefore(s) },
	func(t *rapid.T, s *Situation) { s.Asked = now.Add(-minutes(t, "asked ago")) },
	func(t *rapid.T, s *Situation) { s.ClosedAt = now.Add(-minutes(t, "closed ago")) },
	func(t *rapid.T, s *Situation) { s.Migration.Evidence.Survey.At = now.Add(-minutes(t, "surveyed ago")) },
	func(t *rapid.T, s *Situation) {
		s.Migration.Evidence.WritableUntil = map[string]time.Time{"v1alpha1": now.Add(minutes(t, "writable for"))}
	},
	// Some that matter together: a backup that is required, a restart, and a proof of what the CRD was before.
	func(t *rapid.T, s *Situation) {
		s.Removal.Require = []v1alpha1.Requirement{v1alpha1.Backup}
		of := subjects.Draw(t, "backed up")
		backedUp(func(b *crds.Backup) {
			b.UID, b.Generation, b.StorageVersion = types.UID(of.UID), of.Generation, of.StorageVersion
			b.Time = now.Add(minutes(t, "backed up in") - time.Minute)
		})(s)
	},
	func(t *rapid.T, s *Situation) {
		unsurveyed(s)
		remember(subjects.Draw(t, "remembered in a restart"))(s)
	},
	func(t *rapid.T, s *Situation) {
		s.Migration.Subject = subjects.Draw(t, "proof")
		s.Migration.Evidence.Subject = s.Migration.Subject
	},
}

var reasons = rapid.SampledFrom([]string{
	v1alpha1.ReasonMigrated, v1alpha1.ReasonMigrating, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying, v1alpha1.ReasonObjectsFailed,
	v1alpha1.ReasonConversionUnavailable, v1alpha1.ReasonForbidden, v1alpha1.ReasonUnavailable, v1alpha1.ReasonPaused,
	v1alpha1.ReasonStorageVersionNotServed, v1alpha1.ReasonFieldsWouldBeLost, v1alpha1.ReasonNotEstablished, v1alpha1.ReasonStandingBack,
	v1alpha1.ReasonAggregatedAPIServer, v1alpha1.ReasonUndone,
})

func versions(least int) *rapid.Generator[[]string] {
	return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"v1alpha1", "v1beta1", "v1"}), least, 3, rapid.ID)
}

// subjects are the CRD as it is, and what it may have been before.
var subjects = rapid.SampledFrom([]plan.Subject{
	v1,
	{UID: v1.UID, Generation: 2, StorageVersion: "v1"},
	{UID: v1.UID, Generation: 3, StorageVersion: "v1beta1"},
	{UID: "another", Generation: 3, StorageVersion: "v1"},
})

func minutes(t *rapid.T, what string) time.Duration {
	return time.Duration(rapid.IntRange(0, 3).Draw(t, what)) * time.Minute
}

func check(t *testing.T, property func(*rapid.T, Situation)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		for _, s := range rapid.SliceOfN(situations, 50, 50).Draw(t, "situations") {
			property(t, s)
		}
	})
}

// A survey that is due may be under way for minutes. A gate that asked again at once would do nothing else meanwhile.
func TestAVerdictIsNotAskedForAgainBeforeALaterMoment(t *testing.T) {
	waited := 0
	check(t, func(t *rapid.T, s Situation) {
		if v := Judge(s); !v.Until.IsZero() {
			waited++
			NewWithT(t).Expect(v.Until).To(BeTemporally(">", s.Now), v.Rule)
		}
	})
	NewWithT(t).Expect(waited).To(BeNumerically(">", 0))
}

// The gate: whatever the situation, it opens only on a proof of the very CRD
// that is there now. The test fails when a comparison is taken out of notSeenYet
// and proved, or out of remembered.
func TestTheGateOpensOnlyOnAProofOfThisVeryCRD(t *testing.T) {
	opened := 0
	check(t, func(t *rapid.T, s Situation) {
		v := Judge(s)
		if v.State != Ready || v.Reason != v1alpha1.ReasonSafeToRemove {
			return
		}
		opened++
		g := NewWithT(t)
		g.Expect(s.Migration.Subject).To(Equal(s.CRD.Subject), "what the migration has looked at")
		g.Expect(s.Migration.Evidence.Subject).To(Equal(s.CRD.Subject), "what the proof is about")
		g.Expect(s.Migration.Evidence.Proved).To(BeTrue())
		g.Expect(s.Migration.Decision.Reason).To(Equal(v1alpha1.ReasonMigrated))
		g.Expect(about(v.Proof)).To(Equal(s.CRD.Subject))
		for _, version := range s.Removal.Versions {
			g.Expect(s.CRD.StoredVersions).NotTo(ContainElement(version))
			g.Expect(s.CRD.StorageVersion).NotTo(Equal(version))
			listed := slices.ContainsFunc(s.CRD.Versions, func(of Version) bool { return of.Name == version })
			g.Expect(!listed || slices.Contains(s.Migration.Evidence.Survey.Versions, version) || s.remembered()).
				To(BeTrue(), "managedFields may still name %s", version)
		}
		g.Expect(s.Migration.Evidence.Survey.Failure).To(BeNil())
		g.Expect(s.Remembered != nil && about(s.Remembered) == s.CRD.Subject || lookedAfterAll(s)).To(BeTrue(), "what may have happened since was not looked at")
		for _, loss := range s.Migration.Losses {
			g.Expect(loss.Waits && slices.Contains(s.Removal.Versions, loss.Version)).To(BeFalse(), "nobody has agreed to lose that")
		}
		g.Expect(s.CRD.OptedIn && s.CRD.InScope && !s.Paused && !s.CRD.Deleting).To(BeTrue())
		if slices.Contains(s.Removal.Require, v1alpha1.Backup) {
			b := s.CRD.Backup.Record
			g.Expect(plan.Subject{UID: string(b.UID), Generation: b.Generation, StorageVersion: b.StorageVersion}).To(Equal(s.CRD.Subject), "what was backed up")
			g.Expect(b.Time).NotTo(BeTemporally(">", s.Now))
		}
		for requirement, part := range map[v1alpha1.Requirement]survivors.Part{v1alpha1.NoReferences: survivors.References, v1alpha1.NoStashes: survivors.Stashes} {
			if !slices.Contains(s.Removal.Require, requirement) {
				continue
			}
			opened := s.Remembered != nil && about(s.Remembered) == s.CRD.Subject && s.Remembered.ReferencesAt != nil
			if s.References == nil {
				g.Expect(opened).To(BeTrue(), "nobody has looked for %s", requirement)
				continue
			}
			report := s.References.Report.Only(part)
			g.Expect(slices.ContainsFunc(report.Found, survivors.Group.Matters)).To(BeFalse(), "%s", requirement)
			known := len(report.Unread()) == 0 && !slices.ContainsFunc(report.Unknown, survivors.Group.Matters)
			g.Expect(opened || known && !s.References.At.Before(s.Asked) && !s.References.At.Before(s.ClosedAt)).To(BeTrue(), "%s", requirement)
		}
	})
	NewWithT(t).Expect(opened).To(BeNumerically(">", 0), "the situations must not be hopeless")
}

// about is what a proof is about.
func about(p *v1alpha1.ProofStatus) plan.Subject {
	return plan.Subject{UID: p.UID, Generation: p.Generation, StorageVersion: p.StorageVersion}
}

// lookedAfterAll reports whether the survey began after all that it could have missed.
func lookedAfterAll(s Situation) bool {
	at := s.Migration.Evidence.Survey.At
	quiet := !slices.Contains(s.Removal.Require, v1alpha1.Quiet) || s.LastWrite.IsZero() || !at.Before(s.LastWrite.Add(s.Removal.QuietPeriod.Duration))
	return !at.Before(s.Asked) && !at.Before(s.ClosedAt) && quiet
}

// needsNobody are the reasons that pass by themselves.
var needsNobody = []string{
	v1alpha1.ReasonMigrated, v1alpha1.ReasonMigrating, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying, v1alpha1.ReasonRepairingOwnership,
	v1alpha1.ReasonStandingBack, v1alpha1.ReasonUnavailable, v1alpha1.ReasonStillWritten, v1alpha1.ReasonReferencesUnknown,
}

func TestEveryVerdictSaysWhatAPersonHasToKnow(t *testing.T) {
	check(t, func(t *rapid.T, s Situation) {
		v := Judge(s)
		g := NewWithT(t)
		g.Expect(v.Reason).NotTo(BeEmpty())
		g.Expect(v.Message).NotTo(BeEmpty())
		g.Expect(len(v.Blockers)).To(BeNumerically("<=", 20))
		g.Expect(len(v.Warnings)).To(BeNumerically("<=", 20))
		g.Expect(v.Message).To(ContainSubstring(widgets))
		switch {
		case v.State == Ready:
			g.Expect(v.Blockers).To(BeEmpty())
		case v.State == Stalled, !slices.Contains(needsNobody, v.Reason) && v.Rule != "CRDIsGoing":
			g.Expect(v.Blockers).NotTo(BeEmpty())
			for _, b := range v.Blockers {
				g.Expect(b.Action).NotTo(BeEmpty(), "%s: %s", b.Kind, b.Message)
			}
		}
	})
}
