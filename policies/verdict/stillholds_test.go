package verdict

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
)

func TestWhatWasFoundSafeStandsUntilTheMigrationHasLooked(t *testing.T) {
	started := func(s *Situation) { s.Migration = nil }
	for name, c := range map[string]struct {
		situation Situation
		stands    bool
	}{
		"right after a start":                             {with(started, remember(v1)), true},
		"not if nothing was found before":                 {with(started), false},
		"not if the CRD has changed since":                {with(started, remember(v1), func(s *Situation) { s.CRD.Generation++ }), false},
		"not if something is stored at the version again": {with(started, remember(v1), func(s *Situation) { s.CRD.StoredVersions = []string{"v1alpha1", "v1"} }), false},
		"not if a person has closed the gate":             {with(started, remember(v1), func(s *Situation) { s.Paused = true }), false},
		"not if the label is gone":                        {with(started, remember(v1), func(s *Situation) { s.CRD.OptedIn = false }), false},
		"not once the migration has looked":               {with(remember(v1)), false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.situation.StillHolds(Judge(c.situation))).To(Equal(c.stands))
		})
	}
}

// The API server may say that a CRD has gone before the watch shows how it went.
func TestWhatWasSaidStandsUntilTheWatchShowsHowTheCRDWent(t *testing.T) {
	gone := func(change func(*Situation)) Situation {
		return with(remembers, unseen, func(s *Situation) { s.Went.At = now.Add(-time.Second) }, change)
	}
	for name, c := range map[string]struct {
		situation Situation
		stands    bool
	}{
		"a moment later":              {gone(func(*Situation) {}), true},
		"not for long":                {gone(func(s *Situation) { s.Went.At = now.Add(-hearing) }), false},
		"not once it was seen":        {gone(func(s *Situation) { s.Went.UID, s.Went.Generation = v1.UID, v1.Generation }), false},
		"not if nothing was known":    {gone(func(s *Situation) { s.Record = Record{} }), false},
		"not of a CRD that never was": {gone(func(s *Situation) { s.StoredAt = &v1alpha1.StoredAtStatus{} }), false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.situation.StillHolds(Judge(c.situation))).To(Equal(c.stands))
		})
	}
}
