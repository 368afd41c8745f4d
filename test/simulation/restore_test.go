package simulation

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// The check has ended, and etcd is restored, to when the objects were stale, before the process has written what follows
// from it. These stories are told by hand: among those that are drawn, one in thousands gets there.
func TestARestoreOfEtcdIsNoticed(t *testing.T) {
	slow := Route{Report: 10 * time.Second}
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
				{At: 100 * time.Millisecond, Kind: Flip, Version: "v1"},
				{At: 200 * time.Millisecond, Kind: Trick},
				{At: 150 * time.Second, Kind: Restore, Back: 149 * time.Second, Bumped: true},
			}, "the gate promised"},
		"and the condition is not written to a CRD that has become another": {
			ClaimsNeedNoGuard, Process{From: time.Second, Sight: 20 * time.Second}, []Event{
				{At: 100 * time.Millisecond, Kind: Flip, Version: "v1"},
				{At: 200 * time.Millisecond, Kind: Trick},
				{At: 125 * time.Second, Kind: Restore, Back: 124 * time.Second, Bumped: true},
			}, "the condition promised"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := Schedule{Objects: 1, Servers: []Server{{}}, Routes: []Route{slow}, Processes: []Process{c.process}, Events: c.events}
			without := Play(t, s, Migrator{settle, c.belief})
			t.Log(tell(s, without))
			g.Expect(without.Refuted).To(HavePrefix(c.refuted))
			with := Play(t, s, Migrator{Settle: settle})
			g.Expect(with.Refuted+with.Unfinished).To(BeEmpty(), tell(s, with))
		})
	}
}
