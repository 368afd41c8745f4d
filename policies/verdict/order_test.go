package verdict

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

// The order is part of the specification: a rule further up wins.
func TestTheOrderOfTheRules(t *testing.T) {
	g := NewWithT(t)
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.name
	}
	g.Expect(names).To(Equal([]string{
		"LeftInEtcd", "Paused", "NothingStored", "CRDIsGoing", "LeftUnreadable", "AlreadyRemoved", "StillTheStorageVersion",
		"NotOptedIn", "OutOfScope", "NotSeenYet", "NotProved", "NotTrimmed", "OwnershipNotRepaired",
		"StillServed", "StillWritten", "StillReferenced", "StillStashed", "ReferencesUnknown", "NotBackedUp",
		"NotSeenQuiet", "StillLanding", "LookedTooEarly", "NotLookedForReferences", "SafeToRemove",
	}))
}

func TestRulesFurtherUpWin(t *testing.T) {
	gone := CRD{Deleting: true}
	present := CRD{Subject: plan.Subject{UID: "u", Generation: 3, StorageVersion: "v1alpha1"}, Versions: []Version{{"v1alpha1", true}}, StoredVersions: []string{"v1alpha1", "v1"}}
	everything := with(require(time.Hour, v1alpha1.Unserved, v1alpha1.Quiet, v1alpha1.NoReferences, v1alpha1.NoStashes, v1alpha1.Backup), func(s *Situation) {
		s.Paused, s.CRD = true, nil
		s.Migration.Subject.Generation = 2
		s.Migration.FailedBy = map[string]int64{plan.Unreadable: 1}
		s.Migration.Evidence.Proved = false
		s.Migration.Evidence.Survey.Failure = &plan.Failure{Reason: v1alpha1.ReasonObjectsFailed, Message: "1 of 10 objects failed"}
		s.LastWrite = now
		looks(looked(now.Add(-time.Hour), reference, stash, unreadable))(s)
		s.Asked = now
		s.Migration.Evidence.WritableUntil = map[string]time.Time{"v1alpha1": now.Add(2 * time.Hour)}
	})
	relax := []struct {
		rule  string
		relax func(*Situation)
	}{
		{"Paused", func(s *Situation) { s.Paused = false }},
		{"NothingStored", func(s *Situation) { s.CRD = &gone }},
		{"CRDIsGoing", func(s *Situation) { s.CRD.Deleting = false }},
		{"LeftUnreadable", func(s *Situation) { s.Migration.FailedBy = nil }},
		{"AlreadyRemoved", func(s *Situation) { s.CRD = &present }},
		{"StillTheStorageVersion", func(s *Situation) { s.CRD.Subject = v1 }},
		{"NotOptedIn", func(s *Situation) { s.CRD.OptedIn = true }},
		{"OutOfScope", func(s *Situation) { s.CRD.InScope = true }},
		{"NotSeenYet", func(s *Situation) { s.Migration.Subject = v1 }},
		{"NotProved", func(s *Situation) { s.Migration.Evidence.Proved = true }},
		{"NotTrimmed", func(s *Situation) { s.CRD.StoredVersions = []string{"v1"} }},
		{"OwnershipNotRepaired", func(s *Situation) { s.Migration.Evidence.Survey.Failure = nil }},
		{"StillServed", func(s *Situation) { s.CRD.Versions[0].Served = false }},
		{"StillWritten", func(s *Situation) { s.Now = s.Now.Add(time.Hour) }},
		{"StillReferenced", func(s *Situation) { s.References = looked(s.Now, stash, unreadable) }},
		{"StillStashed", func(s *Situation) { s.References = looked(s.Now, unreadable) }},
		{"ReferencesUnknown", func(s *Situation) { s.References = looked(now.Add(-time.Hour)) }},
		{"NotBackedUp", backedUp()},
		{"NotSeenQuiet", func(s *Situation) { s.Migration.Evidence.Survey.At = s.quietFrom() }},
		{"StillLanding", func(s *Situation) { s.Now = s.Now.Add(time.Hour) }},
		{"LookedTooEarly", func(s *Situation) { s.Migration.Evidence.Survey.At = s.Now }},
		{"NotLookedForReferences", func(s *Situation) { s.References = looked(s.Now) }},
	}
	g := NewWithT(t)
	for _, c := range relax {
		g.Expect(Judge(everything).Rule).To(Equal(c.rule))
		c.relax(&everything)
	}
	g.Expect(Judge(everything).Rule).To(Equal("SafeToRemove"))
}
