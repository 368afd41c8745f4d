package simulation

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// These stories are told by hand: among those that are drawn, one in thousands gets there.

// A deletion of all objects begins on a server that lags, and takes as long as a request may by default. With a settle
// time that is no longer than that, an object is marked as deleted after it was proved, at the version of the beginning.
func TestASettleTimeOfAMinuteIsTooShort(t *testing.T) {
	story := Schedule{
		Objects: 1, Servers: []Server{{}, {Lag: 1500 * time.Millisecond}}, Routes: []Route{{}}, Processes: []Process{{}},
		Events: []Event{
			{At: 100 * time.Millisecond, Kind: Flip, Version: "v1"},
			{At: 1200 * time.Millisecond, Kind: DeleteAll, Server: 1, Hold: time.Minute},
		},
	}
	refutes(t, story, Migrator{Settle: time.Minute}, "the trim promised")
}

// The check has ended, and the storage version is set back while the write that follows is under way.
func TestATrimIsGuarded(t *testing.T) {
	refutes(t, Schedule{
		Objects: 1, Servers: []Server{{}}, Routes: []Route{{Report: 10 * time.Second}}, Processes: []Process{{From: time.Second, Sight: 20 * time.Second}},
		Events: []Event{
			{At: 100 * time.Millisecond, Kind: Flip, Version: "v1"},
			{At: 160 * time.Second, Kind: Flip, Version: "v1alpha1"},
		},
	}, Migrator{settle, NoGuard}, "the trim promised")
}

// The check has ended, and etcd is restored, to when the objects were stale, before the process has written what follows
// from it.
func TestARestoreOfEtcdIsNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		belief  Belief
		process Process
		events  []Event
		refuted string
	}{
		"a CRD that is older than the one that was proved is not trimmed": {
			TimeGoesOn, Process{From: time.Second}, []Event{
				{At: 100 * time.Millisecond, Kind: Flip, Version: "v1"},
				{At: 105 * time.Second, Kind: Restore, Back: 104 * time.Second, Bumped: true},
			}, "the trim promised"},
		"nor does its gate open while nobody has looked at it": {
			TimeGoesOn, Process{From: time.Second, Sight: 20 * time.Second}, []Event{
				{At: 200 * time.Second, Kind: Flip, Version: "v1"}, // the schemas are known by then
				{At: 200*time.Second + 100*time.Millisecond, Kind: Trick},
				{At: 350 * time.Second, Kind: Restore, Back: 149 * time.Second, Bumped: true},
			}, "the gate promised"},
		"and the condition is not written to a CRD that has become another": {
			ClaimsNeedNoGuard, Process{From: time.Second, Sight: 20 * time.Second}, []Event{
				{At: 100 * time.Millisecond, Kind: Flip, Version: "v1"},
				{At: 200 * time.Millisecond, Kind: Trick},
				{At: 250 * time.Second, Kind: Restore, Back: 249 * time.Second, Bumped: true},
			}, "the condition promised"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refutes(t, Schedule{
				Objects: 1, Servers: []Server{{}}, Routes: []Route{{Report: 10 * time.Second}},
				Processes: []Process{c.process}, Events: c.events,
			}, Migrator{settle, c.belief}, c.refuted)
		})
	}
}

// refutes plays a story to a migrator that cannot stand it, and to Moult, which can.
func refutes(t *testing.T, story Schedule, migrator Migrator, claim string) {
	t.Helper()
	g := NewWithT(t)
	without := Play(t, story, migrator)
	t.Log(tell(story, without))
	g.Expect(without.Refuted).To(HavePrefix(claim))
	with := Play(t, story, Migrator{Settle: settle})
	g.Expect(with.Refuted+with.Unfinished).To(BeEmpty(), tell(story, with))
}

// The same where etcd is restored to the very resourceVersion that the cache still has, so that a write which names it is
// accepted: the process is known to have written to the CRD since.
func TestARestoreToWhatTheCacheStillHasIsNoticed(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	story := Schedule{
		Objects: 1, Servers: []Server{{}}, Seed: 0xa2,
		Routes: []Route{{Hold: 300 * ms, Report: 1400 * ms, Expires: true}, {Hold: 7 * s, Report: 1800 * ms, Age: 400 * ms, Expires: true}},
		Processes: []Process{
			{From: 10 * s, For: 294700 * ms, Sight: 30 * s, Skew: -32 * time.Hour}, {From: 305700 * ms, Sight: 100 * ms, Skew: -time.Hour},
		},
		Events: []Event{
			{Kind: Update, Object: "c", Hold: 100 * ms},
			{At: 100 * ms, Kind: Update, Object: "b", Hold: 9800 * ms},
			{At: 700 * ms, Kind: Flip, Version: "v1"},
			{At: 3900 * ms, Kind: Flip, Version: "v1beta1"},
			{At: 5800 * ms, Kind: Orphan, For: 194100 * ms},
			{At: 275400 * ms, Kind: Restore, Back: 62400 * ms},
		},
	}
	r := Play(t, story, Migrator{Settle: settle})
	NewWithT(t).Expect(r.Refuted+r.Unfinished).To(BeEmpty(), tell(story, r))
}
