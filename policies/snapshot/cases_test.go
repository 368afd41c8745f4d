package snapshot

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/survivors"
)

// The snapshots that the tests judge: a safe one, and what may be otherwise.

const widgets = "widgets.example.com"

var (
	taken = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now   = taken.Add(time.Hour)
	ask   = Ask{CRD: widgets, Versions: []string{"v1alpha1"}}
)

// safe shows a CRD whose v1alpha1 may go: proved, trimmed, and no managedFields name it.
func safe() *Snapshot {
	return &Snapshot{
		APIVersion: APIVersion, Kind: Kind, Cluster: "production", TakenAt: taken, ServerVersion: "v1.36.3", MoultVersion: "v0.1.0",
		LabelKey: v1alpha1.MigrateLabel, FieldManager: v1alpha1.FieldManager,
		CRDs: []CRD{{
			Name: widgets, UID: "u", Generation: 3, OptedIn: true, Conversion: "None",
			Versions:       []Version{{Name: "v1alpha1", Served: true, Deprecated: true}, {Name: "v1", Served: true, Storage: true}},
			StoredVersions: []string{"v1"},
			Conditions:     []Condition{{Type: "Established", Status: "True"}, says(v1alpha1.ReasonMigrated, "every object is proved to be stored at v1: 7 of 7 objects, 0 failed", 3)},
			Label:          &Label{Labels: map[string]string{v1alpha1.MigrateLabel: "true"}},
			Objects:        &Objects{Count: 7},
		}},
		Metrics: &Metrics{},
	}
}

// says is our condition.
func says(reason, sentence string, generation int64) Condition {
	status := metav1.ConditionFalse
	if reason == v1alpha1.ReasonMigrated {
		status = metav1.ConditionTrue
	}
	return Condition{Type: v1alpha1.StorageMigrated, Status: string(status), Reason: reason, Message: v1alpha1.Message(generation, sentence), Ours: true}
}

type change func(*Snapshot)

func with(changes ...change) *Snapshot {
	s := safe()
	for _, change := range changes {
		change(s)
	}
	return s
}

// at makes the migration say something else than that it is done.
func at(reason, sentence string) change {
	return func(s *Snapshot) {
		s.CRDs[0].StoredVersions = []string{"v1alpha1", "v1"}
		s.CRDs[0].Conditions[1] = says(reason, sentence, 3)
	}
}

func silent(s *Snapshot) { s.CRDs[0].Conditions = s.CRDs[0].Conditions[:1] }

func unlabelled(s *Snapshot) { s.CRDs[0].OptedIn, s.CRDs[0].Label = false, nil }

func empty(s *Snapshot) { s.CRDs[0].Objects = &Objects{} }

func stored(versions ...string) change {
	return func(s *Snapshot) { s.CRDs[0].StoredVersions = versions }
}

// backedUp is what a snapshot of now shows: a backup at a storage version and generation, or that there is none.
func backedUp(storage string, generation int64) change {
	return crd(func(c *CRD) {
		c.Backup = &crds.LastBackup{}
		if storage != "" {
			c.Backup.Record = &crds.Backup{Time: taken.Add(-time.Hour), UID: types.UID(c.UID), Generation: generation, StorageVersion: storage, Objects: 7}
		}
	})
}

func crd(do func(*CRD)) change { return func(s *Snapshot) { do(&s.CRDs[0]) } }

// owned: objects' managedFields name v1alpha1.
func ownedBy(manager string, ago time.Duration) change {
	return func(s *Snapshot) {
		s.CRDs[0].Objects.OwnedAt = map[string]int64{"v1alpha1": 4}
		s.CRDs[0].Objects.Writers = []Writer{{Version: "v1alpha1", Manager: manager, Operation: "Apply", Objects: 4, Last: taken.Add(-ago), Example: "ns/o"}}
	}
}

func unread(what What, crd, why string) change {
	return func(s *Snapshot) {
		switch what {
		case CRDs:
			s.CRDs = nil
		case OneCRD:
			s.CRDs, s.Named = nil, []string{crd}
		case ObjectsOfCRD:
			s.CRDs[0].Objects = nil
		case FieldsOfCRD:
			s.CRDs[0].Fields = nil
		case Removals:
			s.Removals = nil
		case APIServerMetrics:
			s.Metrics = nil
		case References:
			s.CRDs[0].References = nil
		}
		s.NotRead = append(s.NotRead, NotRead{What: what, CRD: crd, Why: why})
	}
}

// gated adds a VersionRemoval that has been answered as reason says.
func gated(reason, message string, changes ...func(*Removal)) change {
	return func(s *Snapshot) {
		r := Removal{
			Namespace: "ns", Name: "gate", Generation: 1, ObservedGeneration: 1,
			Spec:  v1alpha1.VersionRemovalSpec{CRDName: widgets, Versions: []string{"v1alpha1"}},
			Ready: &Condition{Type: "Ready", Status: string(metav1.ConditionFalse), Reason: reason, Message: message},
		}
		if reason == v1alpha1.ReasonSafeToRemove {
			r.Ready.Status = string(metav1.ConditionTrue)
			r.Proof = &v1alpha1.ProofStatus{UID: "u", Generation: 3, StorageVersion: "v1"}
		}
		for _, change := range changes {
			change(&r)
		}
		s.Removals = append(s.Removals, r)
	}
}

func open(changes ...func(*Removal)) change {
	return gated(v1alpha1.ReasonSafeToRemove, "every object of widgets.example.com is proved to be stored at v1", changes...)
}

func requires(quiet time.Duration, what ...v1alpha1.Requirement) func(*Removal) {
	return func(r *Removal) { r.Spec.Require, r.Spec.QuietPeriod.Duration = what, quiet }
}

// named are references that one object makes at a place.
func named(place string, effect survivors.Effect) func(*Snapshot) {
	return crd(func(c *CRD) {
		c.References = &survivors.Report{Found: []survivors.Group{{Place: place, Effect: effect, Clears: survivors.ByCommit, Title: "rules", CRD: widgets, Version: "v1alpha1", Count: 1}}}
	})
}

// stashedAt is a stashed copy that Moult knows how to move.
func stashedAt(s *Snapshot) {
	named("kubevirt-snapshot-revisions", survivors.LosesData)(s)
	found := &s.CRDs[0].References.Found[0]
	found.Clears, found.Stash, found.Movable = survivors.ByPerson, true, true
}

// ownedAt is an owner reference.
func ownedAt(s *Snapshot) {
	named("owner-references", survivors.LosesData)(s)
	s.CRDs[0].References.Found[0].Clears = survivors.ByMoult
}
