package verdict

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/plan"
)

// A situation drawn here is anything, though each part is more often than not
// what makes a removal safe: otherwise hardly any would be.
var situations = rapid.Custom(func(t *rapid.T) Situation {
	s := Situation{
		Now: now, LabelKey: v1alpha1.MigrateLabel, Allowed: mostly(t, "allowed"), Paused: !mostly(t, "not paused"),
		Removal: v1alpha1.VersionRemovalSpec{
			CRDName: widgets, Versions: versions(1).Draw(t, "asked"), QuietPeriod: metav1.Duration{Duration: minutes(t, "quiet period")},
			Require: rapid.SliceOfNDistinct(rapid.SampledFrom([]v1alpha1.Requirement{v1alpha1.Unserved, v1alpha1.Quiet}), 0, 2, rapid.ID).Draw(t, "require"),
		},
		LastWrite: rapid.SampledFrom([]time.Time{{}, now.Add(-time.Minute)}).Draw(t, "last write"),
	}
	if mostly(t, "a CRD") {
		s.CRD = &CRD{
			Subject: subject(t, "CRD"), OptedIn: mostly(t, "opted in"), InScope: mostly(t, "in scope"), Deleting: !mostly(t, "not deleting"),
			StoredVersions: rapid.OneOf(rapid.Just([]string{"v1"}), versions(1)).Draw(t, "stored"),
		}
		for _, v := range versions(1).Draw(t, "spec.versions") {
			s.CRD.Versions = append(s.CRD.Versions, Version{v, rapid.Bool().Draw(t, "served")})
		}
	}
	if mostly(t, "a standing") {
		s.Standing = standing(t)
	}
	if rapid.Bool().Draw(t, "remembered") {
		p := subject(t, "remembered")
		s.Remembered = &v1alpha1.ProofStatus{UID: p.UID, Generation: p.Generation, StorageVersion: p.StorageVersion}
	}
	return s
})

func standing(t *rapid.T) *plan.Standing {
	s := &plan.Standing{
		Subject:  subject(t, "standing"),
		Decision: plan.Decision{Reason: rapid.OneOf(rapid.Just(v1alpha1.ReasonMigrated), reasons).Draw(t, "reason"), Sentence: "a sentence"},
		Evidence: plan.Evidence{Subject: subject(t, "evidence"), Proved: mostly(t, "proved")},
		Failures: rapid.SliceOfN(rapid.Just("ns/o: Invalid: no"), 0, 20).Draw(t, "failures"),
	}
	s.Evidence.Survey.Versions = versions(0).Draw(t, "surveyed")
	if !mostly(t, "a survey without trouble") {
		s.Evidence.Survey.Trouble = &plan.Trouble{Reason: reasons.Draw(t, "trouble"), Message: "a trouble"}
	}
	for _, v := range versions(0).Draw(t, "written") {
		s.Writers = append(s.Writers, plan.Writer{Manager: "m (Update)", Version: v, Last: now.Add(-minutes(t, "written ago"))})
	}
	return s
}

var reasons = rapid.SampledFrom([]string{
	v1alpha1.ReasonMigrating, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying, v1alpha1.ReasonObjectsFailed,
	v1alpha1.ReasonConversionUnavailable, v1alpha1.ReasonForbidden, v1alpha1.ReasonUnavailable, v1alpha1.ReasonPaused,
	v1alpha1.ReasonStorageVersionNotServed, v1alpha1.ReasonNotEstablished, v1alpha1.ReasonStandingBack,
})

func versions(least int) *rapid.Generator[[]string] {
	return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"v1alpha1", "v1beta1", "v1"}), least, 3, rapid.ID)
}

func subject(t *rapid.T, of string) plan.Subject {
	s := v1
	if !mostly(t, of+": same UID") {
		s.UID = "another"
	}
	if !mostly(t, of+": same generation") {
		s.Generation++
	}
	if !mostly(t, of+": same storage version") {
		s.StorageVersion = "v1beta1"
	}
	return s
}

func mostly(t *rapid.T, what string) bool { return rapid.IntRange(0, 9).Draw(t, what) < 9 }

func minutes(t *rapid.T, what string) time.Duration {
	return time.Duration(rapid.IntRange(0, 3).Draw(t, what)) * time.Minute
}

// The gate: whatever the situation, it opens only on a proof of the very CRD
// that is there now. The test fails when a comparison is taken out of notSeenYet
// and proved, or out of remembered.
func TestTheGateOpensOnlyOnAProofOfThisVeryCRD(t *testing.T) {
	opened := 0
	rapid.Check(t, func(t *rapid.T) {
		s := situations.Draw(t, "situation")
		v := Judge(s)
		if v.State != Ready || v.Reason != v1alpha1.ReasonSafeToRemove {
			return
		}
		opened++
		g := NewWithT(t)
		g.Expect(s.Standing.Subject).To(Equal(s.CRD.Subject), "what the migration has looked at")
		g.Expect(s.Standing.Evidence.Subject).To(Equal(s.CRD.Subject), "what the proof is about")
		g.Expect(s.Standing.Evidence.Proved).To(BeTrue())
		g.Expect(s.Standing.Decision.Reason).To(Equal(v1alpha1.ReasonMigrated))
		g.Expect(v.Proof).To(Equal(&v1alpha1.ProofStatus{UID: s.CRD.UID, Generation: s.CRD.Generation, StorageVersion: s.CRD.StorageVersion}))
		for _, version := range s.Removal.Versions {
			g.Expect(s.CRD.StoredVersions).NotTo(ContainElement(version))
			g.Expect(s.CRD.StorageVersion).NotTo(Equal(version))
			listed := slices.ContainsFunc(s.CRD.Versions, func(of Version) bool { return of.Name == version })
			g.Expect(!listed || slices.Contains(s.Standing.Evidence.Survey.Versions, version) || s.Remembered != nil && *s.Remembered == *v.Proof).
				To(BeTrue(), "managedFields may still name %s", version)
		}
		g.Expect(s.Standing.Evidence.Survey.Trouble).To(BeNil())
		g.Expect(s.CRD.OptedIn && s.CRD.InScope && s.Allowed && !s.Paused && !s.CRD.Deleting).To(BeTrue())
	})
	t.Log(opened); NewWithT(t).Expect(opened).To(BeNumerically(">", 0), "the situations must not be hopeless")
}

// needsNobody are the reasons that pass by themselves.
var needsNobody = []string{
	v1alpha1.ReasonMigrated, v1alpha1.ReasonMigrating, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying, v1alpha1.ReasonRepairingOwnership,
	v1alpha1.ReasonStandingBack, v1alpha1.ReasonUnavailable, v1alpha1.ReasonStillWritten,
}

func TestEveryVerdictSaysWhatAPersonHasToKnow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := situations.Draw(t, "situation")
		v := Judge(s)
		g := NewWithT(t)
		g.Expect(v.Reason).NotTo(BeEmpty())
		g.Expect(v.Message).NotTo(BeEmpty())
		g.Expect(len(v.Blockers)).To(BeNumerically("<=", 20))
		g.Expect(len(v.Warnings)).To(BeNumerically("<=", 20))
		if v.Rule == "NamespaceNotAllowed" {
			g.Expect(v.Message).NotTo(ContainSubstring(widgets), "the asker may not know of it")
		} else {
			g.Expect(v.Message).To(ContainSubstring(widgets))
		}
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
