package verdict

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

// An open gate's message changes with its own surveys and not at each look.
func TestWhichSurveyAnOpenGateNames(t *testing.T) {
	const interval = 10 * time.Minute
	named := now.Add(-time.Minute) // remember's
	for name, c := range map[string]struct {
		s    Situation
		want time.Time
	}{
		"a gate that opens names the one it is opened by":             {with(surveyed(time.Second)), now.Add(-time.Second)},
		"an open gate goes on naming it when others ask":              {with(remember(v1), surveyed(0)), named},
		"and after a restart":                                         {with(remember(v1), unsurveyed), named},
		"a survey that it has asked for itself is named":              {with(remember(v1), surveyed(0), func(s *Situation) { s.Asked = now }), now},
		"a survey is named once the last one is old":                  {with(remember(v1), surveyed(0), func(s *Situation) { s.Every = time.Minute }), now},
		"an older one is not":                                         {with(remember(v1), surveyed(2*time.Minute), func(s *Situation) { s.Asked = now }), named},
		"one of another generation is not":                            {with(remember(plan.Subject{UID: "u", Generation: 2, StorageVersion: "v1"}), surveyed(0)), now},
		"one that somebody has put into the future is not":            {with(remember(v1), surveyed(0), func(s *Situation) { s.Remembered.SurveyedAt.Time = later }), now},
		"one that does not look for all of the versions is not named": {with(remember(v1), surveyed(0), func(s *Situation) { s.Every = 1; s.Migration.Evidence.Survey.Versions = nil }), named},
	} {
		t.Run(name, func(t *testing.T) {
			if c.s.Every == 0 {
				c.s.Every = interval
			}
			v := Judge(c.s)
			g := NewWithT(t)
			g.Expect(v.Rule).To(Equal("SafeToRemove"))
			g.Expect(v.Proof.SurveyedAt.Time).To(Equal(c.want))
		})
	}
}

func TestWhenARequestToLookIsAnswered(t *testing.T) {
	asked := func(s *Situation) { s.Requested = now }
	tried := func(ago time.Duration) func(*Situation) {
		return func(s *Situation) { s.Migration.Evidence.Survey.Tried = now.Add(-ago) }
	}
	migrating := at(v1alpha1.ReasonMigrating, "rewriting objects at v1")
	failing := func(ago time.Duration) func(*Situation) {
		return func(s *Situation) {
			s.Migration.Evidence.Failure, s.Migration.Evidence.Tried = &plan.Failure{}, now.Add(-ago)
		}
	}
	for name, c := range map[string]struct {
		s    Situation
		want bool
	}{
		"not by a survey that began before it":             {with(asked, tried(1)), false},
		"by one that began after it":                       {with(asked, tried(0)), true},
		"by one that began after it and failed":            {with(asked, tried(0), surveyTrouble(v1alpha1.ReasonUnavailable, "no")), true},
		"not while the migration is at work":               {with(asked, migrating), false},
		"not by a walk that failed before it":              {with(asked, migrating, failing(1)), false},
		"by a walk that began after it and failed":         {with(asked, migrating, failing(0)), true},
		"not before the migration has looked":              {with(asked, func(s *Situation) { s.Migration = nil }), false},
		"not while it has looked at another generation":    {with(asked, tried(0), func(s *Situation) { s.Migration.Subject.Generation = 2 }), false},
		"at once where there is no CRD":                    {with(asked, func(s *Situation) { s.CRD = nil }), true},
		"at once where the CRD is going":                   {with(asked, func(s *Situation) { s.CRD.Deleting = true }), true},
		"at once where the CRD has not opted in":           {with(asked, func(s *Situation) { s.CRD.OptedIn = false }), true},
		"at once where the CRD is another controller's":    {with(asked, func(s *Situation) { s.CRD.InScope = false }), true},
		"at once where the storage version is asked to go": {with(asked, func(s *Situation) { s.Removal.Versions = []string{"v1"} }), true},
		"at once where a person has to change the CRD": {with(asked, at(v1alpha1.ReasonPaused, "paused"), func(s *Situation) {
			s.Migration.Decision.Step = plan.Hold
		}), true},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Judge(c.s).Answered).To(Equal(c.want))
		})
	}
}

// A gate that opens after one of these has managedFields looked through once more. The others are passed on the way.
func TestWhichVerdictsClose(t *testing.T) {
	closing := map[string]bool{}
	for _, r := range rules {
		if r.closes {
			closing[r.name] = true
		}
	}
	NewWithT(t).Expect(closing).To(Equal(map[string]bool{
		"Paused": true, "LeftInEtcd": true, "CRDIsGoing": true, "LeftUnreadable": true, "StillTheStorageVersion": true, "NotOptedIn": true, "OutOfScope": true,
		"NotSeenYet": true, "NotProved": true, "StillServed": true, "StillWritten": true,
		"StillReferenced": true, "StillStashed": true, "ReferencesUnknown": true, "NotBackedUp": true,
	}))
}
