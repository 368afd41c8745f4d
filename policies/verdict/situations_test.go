package verdict

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

// The situations that the tests judge: a safe one, and what may be otherwise.

const widgets = "widgets.example.com"

var (
	now   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later = now.Add(time.Minute)
	v1    = plan.Subject{UID: "u", Generation: 3, StorageVersion: "v1"}
)

// safe is a CRD whose v1alpha1 can go without a second thought.
func safe() Situation {
	return Situation{
		Now: now, LabelKey: v1alpha1.MigrateLabel,
		Removal: v1alpha1.VersionRemovalSpec{CRDName: widgets, Versions: []string{"v1alpha1"}},
		CRD: &CRD{
			Subject: v1, OptedIn: true, InScope: true,
			Versions: []Version{{"v1alpha1", false}, {"v1", true}}, StoredVersions: []string{"v1"},
		},
		Migration: &plan.MigrationStatus{
			Subject:  v1,
			Decision: plan.Decision{Reason: v1alpha1.ReasonMigrated, Sentence: "every object is stored at v1"},
			Evidence: plan.Evidence{Subject: v1, Proved: true, Survey: plan.Surveyed{Versions: []string{"v1alpha1"}, At: now}},
		},
	}
}

func with(changes ...func(*Situation)) Situation {
	s := safe()
	for _, change := range changes {
		change(&s)
	}
	return s
}

// at makes the migration say something else than that it is done.
func at(reason, sentence string) func(*Situation) {
	return func(s *Situation) {
		s.CRD.StoredVersions = []string{"v1alpha1", "v1"}
		s.Migration.Decision = plan.Decision{Reason: reason, Sentence: sentence}
		s.Migration.Evidence = plan.Evidence{Subject: v1}
	}
}

// backedUp has a backup of an hour ago, unless changes say otherwise.
func backedUp(changes ...func(*crds.Backup)) func(*Situation) {
	b := &crds.Backup{Time: now.Add(-time.Hour), Digest: "sha256:0", UID: types.UID(v1.UID), Generation: v1.Generation, StorageVersion: v1.StorageVersion, Objects: 7}
	for _, change := range changes {
		change(b)
	}
	return func(s *Situation) { s.CRD.Backup.Record = b }
}

// surveyed sets how long ago the survey began.
func surveyed(ago time.Duration) func(*Situation) {
	return func(s *Situation) { s.Migration.Evidence.Survey.At = now.Add(-ago) }
}

// landing sets for how long a write at v1alpha1 may still land.
func landing(after time.Duration) func(*Situation) {
	return func(s *Situation) {
		s.Migration.Evidence.WritableUntil = map[string]time.Time{"v1alpha1": now.Add(after)}
	}
}

func unsurveyed(s *Situation) { s.Migration.Evidence.Survey = plan.Surveyed{} }

func surveyTrouble(reason, message string) func(*Situation) {
	return func(s *Situation) {
		s.Migration.Evidence.Survey.Failure = &plan.Failure{Reason: reason, Message: message}
		s.Migration.Evidence.Survey.NextAt = later
	}
}

func failed(objects ...string) func(*Situation) {
	return func(s *Situation) {
		for _, o := range objects {
			s.Migration.FailedObjects = append(s.Migration.FailedObjects, plan.FailedObject{Text: o})
		}
	}
}

func served(s *Situation) { s.CRD.Versions[0].Served = true }

func require(period time.Duration, what ...v1alpha1.Requirement) func(*Situation) {
	return func(s *Situation) {
		s.Removal.Require, s.Removal.QuietPeriod = what, metav1.Duration{Duration: period}
	}
}

func written(version string, ago time.Duration) func(*Situation) {
	return func(s *Situation) {
		s.Migration.Writers = append(s.Migration.Writers, plan.Writer{
			Manager: "old-tool (Apply)", Version: version, Objects: 7, Last: now.Add(-ago), LastWrote: "ns/o",
		})
	}
}

func losing(waits bool) func(*Situation) {
	return func(s *Situation) {
		s.Migration.Losses = append(s.Migration.Losses, plan.Loss{
			Manager: "flux (Apply)", Version: "v1alpha1", Waits: waits, Objects: 2, Fields: 3, Field: "spec.size", Object: "ns/o", Why: "no route",
		})
	}
}

func retry(s *Situation) { s.Migration.Evidence.Survey.NextAt = later }

func counted(done, failed int64) func(*Situation) {
	return func(s *Situation) {
		s.Migration.Walking = &plan.Walking{Subject: v1, Counts: plan.Counts{Total: 10, Rewritten: done - failed, Failed: failed}}
	}
}

func remember(s plan.Subject) func(*Situation) {
	return func(to *Situation) {
		to.Remembered = &v1alpha1.ProofStatus{UID: s.UID, Generation: s.Generation, StorageVersion: s.StorageVersion, SurveyedAt: &metav1.Time{Time: now.Add(-time.Minute)}}
	}
}
