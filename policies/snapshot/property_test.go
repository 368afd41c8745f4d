package snapshot

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/verdict"
)

// A snapshot drawn here is a safe one with a few deviations: if every part were drawn by itself, hardly any answer would
// be a safe one.
var snapshots = rapid.Custom(func(t *rapid.T) *Snapshot {
	s := safe()
	for _, deviate := range rapid.SliceOfN(rapid.SampledFrom(deviations), 0, 5).Draw(t, "deviations") {
		deviate(t, s)
	}
	if rapid.IntRange(0, 9).Draw(t, "no CRD at 9") == 9 {
		s.CRDs = nil
	}
	return s
})

var names = []string{"v1alpha1", "v1beta1", "v1"}

func versions(least int) *rapid.Generator[[]string] {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(names), least, 3, rapid.ID)
}

var generations = rapid.Int64Range(2, 4)

var reasons = rapid.SampledFrom([]string{
	v1alpha1.ReasonMigrated, v1alpha1.ReasonMigrating, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying, v1alpha1.ReasonObjectsFailed,
	v1alpha1.ReasonConversionUnavailable, v1alpha1.ReasonForbidden, v1alpha1.ReasonUnavailable, v1alpha1.ReasonPaused,
	v1alpha1.ReasonStorageVersionNotServed, v1alpha1.ReasonFieldsWouldBeLost, v1alpha1.ReasonNotEstablished, v1alpha1.ReasonStandingBack,
	v1alpha1.ReasonAggregatedAPIServer, v1alpha1.ReasonUndone, "ReasonOfALaterMoult",
})

// Those that rapid is to draw most often come first.
var deviations = []func(*rapid.T, *Snapshot){
	func(t *rapid.T, s *Snapshot) { // a gate that was open before somebody took our condition away
		s.CRDs[0].Conditions[1].Type = "Another"
		open(func(r *Removal) { r.Proof.Generation = generations.Draw(t, "remembered generation") })(s)
	},
	func(t *rapid.T, s *Snapshot) { s.Removals = append(s.Removals, removals.Draw(t, "removal")) },
	func(t *rapid.T, s *Snapshot) {
		s.CRDs[0].UID = rapid.SampledFrom([]string{"u", "another"}).Draw(t, "uid")
	},
	func(t *rapid.T, s *Snapshot) { s.CRDs[0].Generation = generations.Draw(t, "generation") },
	func(t *rapid.T, s *Snapshot) { s.CRDs[0].Deleting = rapid.Bool().Draw(t, "deleting") },
	func(t *rapid.T, s *Snapshot) { s.CRDs[0].Paused = rapid.Bool().Draw(t, "paused") },
	func(t *rapid.T, s *Snapshot) {
		if rapid.Bool().Draw(t, "not opted in") {
			unlabelled(s)
		}
	},
	func(t *rapid.T, s *Snapshot) {
		s.CRDs[0].StoredVersions = append([]string(nil), versions(0).Draw(t, "stored")...)
	},
	func(t *rapid.T, s *Snapshot) {
		s.CRDs[0].Versions = nil
		listed := versions(1).Draw(t, "spec.versions")
		storage := rapid.SampledFrom(listed).Draw(t, "storage")
		for _, v := range listed {
			s.CRDs[0].Versions = append(s.CRDs[0].Versions, Version{Name: v, Served: rapid.Bool().Draw(t, "served"), Storage: v == storage})
		}
	},
	func(t *rapid.T, s *Snapshot) {
		s.CRDs[0].Conditions[1] = says(reasons.Draw(t, "reason"), "3 of 7 objects, 0 failed", generations.Draw(t, "spoken of"))
	},
	func(t *rapid.T, s *Snapshot) { s.CRDs[0].Conditions[1].Ours = rapid.Bool().Draw(t, "ours") },
	func(t *rapid.T, s *Snapshot) {
		s.CRDs[0].Conditions[1].Status = rapid.SampledFrom([]string{"True", "False", "Unknown"}).Draw(t, "migrated")
	},
	func(_ *rapid.T, s *Snapshot) { s.CRDs[0].Conditions[1].Type = "Another" },
	func(t *rapid.T, s *Snapshot) {
		s.CRDs[0].Conditions[0].Status = rapid.SampledFrom([]string{"True", "False"}).Draw(t, "established")
	},
	func(_ *rapid.T, s *Snapshot) {
		s.CRDs[0].Conditions = append(s.CRDs[0].Conditions, Condition{Type: v1alpha1.StorageMigrating, Status: "True"})
	},
	func(_ *rapid.T, s *Snapshot) { s.CRDs[0].Objects = nil },
	func(t *rapid.T, s *Snapshot) {
		s.CRDs[0].Objects = &Objects{Count: 7, OwnedAt: map[string]int64{}}
		for _, v := range versions(0).Draw(t, "owned at") {
			s.CRDs[0].Objects.OwnedAt[v] = 1
			s.CRDs[0].Objects.Writers = append(s.CRDs[0].Objects.Writers, Writer{Version: v, Manager: "m", Operation: "Apply", Objects: 1, Last: taken.Add(-minutes(t, "written"))})
		}
	},
	func(t *rapid.T, s *Snapshot) {
		s.Named = []string{rapid.SampledFrom([]string{widgets, "gadgets.example.com"}).Draw(t, "named")}
	},
	func(t *rapid.T, s *Snapshot) {
		s.NotRead = append(s.NotRead, NotRead{What: rapid.SampledFrom([]What{CRDs, OneCRD}).Draw(t, "not read"), CRD: rapid.SampledFrom([]string{"", widgets}).Draw(t, "of"), Why: "forbidden"})
	},
}

func minutes(t *rapid.T, what string) time.Duration {
	return time.Duration(rapid.IntRange(0, 3).Draw(t, what)) * time.Minute
}

var removals = rapid.Custom(func(t *rapid.T) Removal {
	r := Removal{
		Namespace: "ns", Name: "gate", Generation: rapid.Int64Range(1, 2).Draw(t, "its generation"), ObservedGeneration: 1, Paused: rapid.IntRange(0, 9).Draw(t, "paused at 9") == 9,
		Spec:  v1alpha1.VersionRemovalSpec{CRDName: widgets, Versions: versions(1).Draw(t, "its versions")},
		Ready: &Condition{Type: "Ready", Status: "False", Reason: reasons.Draw(t, "its reason"), Message: widgets + ": not yet"},
	}
	if rapid.Bool().Draw(t, "open") {
		r.Ready.Status, r.Ready.Reason = string(metav1.ConditionTrue), v1alpha1.ReasonSafeToRemove
	}
	if rapid.Bool().Draw(t, "with a proof") {
		r.Proof = &v1alpha1.ProofStatus{UID: "u", Generation: generations.Draw(t, "proved generation"), StorageVersion: rapid.SampledFrom(names).Draw(t, "proved at")}
	}
	r.Spec.QuietPeriod.Duration = minutes(t, "quiet period")
	r.Spec.Require = rapid.SliceOfNDistinct(rapid.SampledFrom([]v1alpha1.Requirement{v1alpha1.Unserved, v1alpha1.Quiet}), 0, 2, rapid.ID).Draw(t, "require")
	return r
})

var asks = rapid.Custom(func(t *rapid.T) Ask {
	a := Ask{CRD: widgets, Versions: []string{"v1alpha1"}}
	if rapid.Bool().Draw(t, "other versions") {
		a.Versions = versions(1).Draw(t, "asked")
	}
	if rapid.IntRange(0, 3).Draw(t, "terms at 3") == 3 {
		a.Terms = &Terms{QuietPeriod: minutes(t, "asked quiet"), Require: []v1alpha1.Requirement{v1alpha1.Quiet}}
	}
	return a
})

func check(t *testing.T, property func(*WithT, *Snapshot, Ask, Answer)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		for range 50 {
			s, a := snapshots.Draw(rt, "snapshot"), asks.Draw(rt, "ask")
			property(NewWithT(rt), s, a, s.Judge(a, now))
		}
	})
}

// The promise: whatever a snapshot shows, it is called safe only where it shows a proof. What the property says is said
// without any of the code that decides.
func TestNothingIsCalledSafeWithoutAProof(t *testing.T) {
	opened, remembered := 0, 0
	check(t, func(g *WithT, s *Snapshot, ask Ask, a Answer) {
		if !a.Known || a.State != verdict.Ready || a.Reason != v1alpha1.ReasonSafeToRemove {
			return
		}
		opened++
		c := s.CRDs[0]
		storage := c.Versions[slices.IndexFunc(c.Versions, func(v Version) bool { return v.Storage })].Name
		for _, v := range ask.Versions {
			g.Expect(c.StoredVersions).NotTo(ContainElement(v))
			g.Expect(v).NotTo(Equal(storage))
		}
		g.Expect(c.OptedIn).To(BeTrue())
		g.Expect(c.Deleting).To(BeFalse())

		gate := slices.ContainsFunc(s.Removals, func(r Removal) bool {
			return r.Spec.CRDName == c.Name && subset(ask.Versions, r.Spec.Versions) && r.ObservedGeneration == r.Generation && r.Proof != nil &&
				*r.Proof == v1alpha1.ProofStatus{UID: c.UID, Generation: c.Generation, StorageVersion: storage}
		})
		m := c.condition(v1alpha1.StorageMigrated)
		proved := m != nil && m.Ours && m.Status == "True" && v1alpha1.SpeaksOf(m.Message, c.Generation) && slices.Equal(c.StoredVersions, []string{storage})
		unowned := c.Objects != nil && !slices.ContainsFunc(c.Versions, func(v Version) bool { return slices.Contains(ask.Versions, v.Name) && c.Objects.OwnedAt[v.Name] > 0 })
		if !proved {
			remembered++
			g.Expect(m == nil || !m.Ours || !v1alpha1.SpeaksOf(m.Message, c.Generation)).To(BeTrue(), "the condition speaks of the CRD and does not say that it is migrated")
			g.Expect(gate).To(BeTrue(), "neither the condition nor a gate holds a proof")
			g.Expect(slices.ContainsFunc(s.Removals, func(r Removal) bool { return r.ready() && r.Proof != nil })).To(BeTrue())
		}
		g.Expect(unowned || gate).To(BeTrue(), "managedFields may still name a version")
		terms := ask.Terms
		if terms == nil && a.Gate != nil {
			terms = termsOf(s, ask)
		}
		if terms != nil && slices.Contains(terms.Require, v1alpha1.Quiet) && c.Objects != nil && proved {
			for _, w := range c.Objects.Writers {
				if slices.Contains(ask.Versions, w.Version) {
					g.Expect(w.Last.Add(terms.QuietPeriod)).NotTo(BeTemporally(">", s.TakenAt), "somebody has written within the quiet period")
				}
			}
		}
	})
	g := NewWithT(t)
	g.Expect(opened).To(BeNumerically(">", 0), "the snapshots must not be hopeless")
	g.Expect(remembered).To(BeNumerically(">", 0), "some must rest on the gate alone")
}

// termsOf are those of the gate that the answer names.
func termsOf(s *Snapshot, ask Ask) *Terms {
	r := s.gate(ask.CRD, ask.Versions)
	return &Terms{Require: r.Spec.Require, QuietPeriod: r.Spec.QuietPeriod.Duration}
}

func subset(a, of []string) bool {
	return !slices.ContainsFunc(a, func(v string) bool { return !slices.Contains(of, v) })
}

// What is absent or gone is safe, too, if the snapshot can tell.
func TestNothingIsCalledAbsentThatWasNotLookedFor(t *testing.T) {
	seen := 0
	check(t, func(g *WithT, s *Snapshot, ask Ask, a Answer) {
		if !a.Known || a.State != verdict.Ready || a.Reason != v1alpha1.ReasonNothingStored {
			return
		}
		seen++
		g.Expect(s.CRDs).To(BeEmpty())
		g.Expect(len(s.Named) == 0 || slices.Contains(s.Named, ask.CRD)).To(BeTrue())
		g.Expect(s.notRead(CRDs, "")).To(BeNil())
		g.Expect(s.notRead(OneCRD, ask.CRD)).To(BeNil())
	})
	NewWithT(t).Expect(seen).To(BeNumerically(">", 0))
}

func TestEveryAnswerSaysWhatAPersonHasToKnow(t *testing.T) {
	check(t, func(g *WithT, _ *Snapshot, _ Ask, a Answer) {
		if !a.Known {
			g.Expect(a.Why).NotTo(BeEmpty())
			g.Expect(a.State).NotTo(Equal(verdict.Ready))
			return
		}
		g.Expect(a.Reason).NotTo(BeEmpty())
		g.Expect(a.Message).NotTo(BeEmpty())
		g.Expect(a.State).To(BeElementOf(verdict.Ready, verdict.Progressing, verdict.Stalled))
		g.Expect(a.RepairOnly).To(Or(BeFalse(), Equal(a.Proved)), "nothing but a repair is left, and yet nothing is proved")
	})
}

func TestAnAnswerSurvivesTheFile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := NewWithT(rt)
		s, a := snapshots.Draw(rt, "snapshot"), asks.Draw(rt, "ask")
		content, err := s.Write()
		g.Expect(err).NotTo(HaveOccurred())
		read, err := Read(content)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read.Judge(a, now)).To(Equal(s.Judge(a, now)))
	})
}
