package simulation

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/controllers/migration"
)

// settle is Moult's default settle time.
const settle = migration.DefaultSettle

// assumed is a world that keeps to Moult's assumption: nothing is as late as the settle time, but nearly.
var assumed = Limits{
	Lag: 25 * time.Second, Hold: 34 * time.Second, Collection: 60 * time.Second, Age: 4900 * time.Millisecond,
	Report: 40 * time.Second, Back: 200 * time.Second, Orphans: 20 * time.Minute, Faults: true,
}

func TestNothingIsStaleOnceMoultReportsThat(t *testing.T) {
	NewWithT(t).Expect(assumed.Late()).To(BeNumerically("<", settle))
	rapid.Check(t, func(rt *rapid.T) {
		s := Schedules(assumed).Draw(rt, "schedule")
		if r := Play(t, s, Migrator{Settle: settle}); r.Refuted != "" || r.Unfinished != "" {
			rt.Log(tell(s, r))
			rt.Fatalf("refuted: %q, unfinished: %q", r.Refuted, r.Unfinished)
		}
	})
}

// Without this, rapid could neither shrink what it finds nor play it again.
func TestAPlayIsAlwaysTheSame(t *testing.T) {
	for seed := range 30 {
		s := Schedules(assumed).Example(seed)
		first, second := Play(t, s, Migrator{Settle: settle}), Play(t, s, Migrator{Settle: settle})
		if !slices.Equal(first.Story, second.Story) {
			t.Fatalf("seed %d:\n%s\nonce:\n%s\nonce more:\n%s", seed, s, strings.Join(first.Story, "\n"), strings.Join(second.Story, "\n"))
		}
	}
}

// A property that nothing could refute would hold as well.
func TestSchedulesGetWhereItHurts(t *testing.T) {
	seen, plays := map[Sight]int{}, 100
	for seed := range plays {
		for sight := range Play(t, Schedules(assumed).Example(seed), Migrator{Settle: settle}).Seen {
			seen[sight]++
		}
	}
	for _, sight := range []Sight{
		Trimmed, GateOpened, LateWrite, RewrittenBack, WronglyElided, LateRequest, TwoAtOnce, ExpiredList, LostAnswer, Refused, Restored, Orphaned, Carried,
	} {
		t.Logf("%3d of %d plays show %s", seen[sight], plays, sight)
		NewWithT(t).Expect(seen[sight]).To(BeNumerically(">", 0), "plays that show %s", sight)
	}
}
