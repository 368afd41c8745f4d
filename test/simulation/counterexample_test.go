package simulation

import (
	"testing"
	"time"
)

// What is left out, or assumed wrongly, must show: for each, there is a schedule that Moult as it is can stand, and that
// one without it cannot. The stories are shrunk; `go test -v` tells them.
func TestNothingCanBeLeftOut(t *testing.T) {
	calm := assumed
	calm.Faults = false
	moult := Migrator{Settle: settle}
	for name, c := range map[string]struct {
		limits         Limits
		migrator, cure Migrator
	}{
		"without the settle time": {calm, Migrator{Settle: 1}, moult},
		"without the proof":       {calm, Migrator{settle, TheFirstPassIsEnough}, moult},
		"if a resourceVersion newer than the flip counts as current": {calm, Migrator{settle, NewIsFresh}, moult},
		"if a clean storedVersions counts as a proof":                {calm, Migrator{settle, CleanIsProved}, moult},
		"if a conflict counts as rewritten, and the settle time is too short": {Limits{Lag: time.Second, Hold: 30 * time.Second, Age: 20 * time.Second},
			Migrator{5 * time.Second, ConflictsAreFresh}, Migrator{Settle: 5 * time.Second}},
		"if what the check finds is no sign of more, and the settle time is too short": {calm,
			Migrator{5 * time.Second, FoundIsFine}, Migrator{Settle: 5 * time.Second}},
		"if an object whose Namespace is gone counts as gone": {Limits{Lag: time.Second, Orphans: 20 * time.Minute},
			Migrator{settle, NotFoundIsGone}, moult},
		"if API servers lag for longer than the settle time": {Limits{Lag: 3 * settle},
			moult, Migrator{Settle: 4 * settle}},
		"if a request is under way for longer than the settle time": {Limits{Hold: 3 * settle},
			moult, Migrator{Settle: 4 * settle}},
		"if lists are older than the settle time": {Limits{Lag: settle / 4, Hold: settle / 2, Age: 2 * settle},
			moult, Migrator{Settle: 4 * settle}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, r := search(t, c.limits, c.migrator, c.cure)
			t.Log(tell(s, r))
		})
	}
}
