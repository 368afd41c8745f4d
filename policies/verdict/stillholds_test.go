package verdict

import (
	"testing"

	. "github.com/onsi/gomega"
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
