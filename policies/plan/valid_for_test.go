package plan

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestASettleTimeBeginsWhenTheAPIServerIsSeenToAnswerByItself(t *testing.T) {
	g := NewWithT(t)
	o := Observation{Now: now, Present: true, OptedIn: true, InScope: true, Established: true, Served: true,
		Subject: Subject{"u", 1, "v1"}, StoredVersions: []string{"v1"}, Shape: "old", Routed: now}
	o.Evidence = Evidence{}.ValidFor(o, Recorded{}, settle)
	o.Now = now.Add(settle)
	o.Evidence = o.Evidence.ValidFor(o, Recorded{}, settle)
	g.Expect(Decide(o).Step).To(Equal(Check))
	o.Routed = now.Add(settle - 1)
	o.Evidence = o.Evidence.ValidFor(o, Recorded{}, settle)
	d := Decide(o)
	g.Expect(d.Step).To(Equal(Wait))
	g.Expect(d.Until).To(Equal(o.Routed.Add(settle)), "an API server that lags may still hand requests on")
}

func TestATrimThatSomebodyHasMadeUpForIsNoFailure(t *testing.T) {
	g := NewWithT(t)
	e := Evidence{Subject: Subject{"u", 1, "v1"}, Proved: true}.Failed(Failure{Reason: "Forbidden"}, now)
	g.Expect(e.Seen(false, now, settle).Failure).NotTo(BeNil())
	e = e.Seen(true, now, settle)
	g.Expect(e.Failure).To(BeNil())
	g.Expect(e.Failures).To(BeZero())
}

func TestTwoProcessesThatHaveProvedTheSameAgreeOnTheWords(t *testing.T) {
	g := NewWithT(t)
	o := Observation{Now: now, Subject: Subject{"u", 1, "v1"}, StoredVersions: []string{"v1"}}
	short := Evidence{Subject: o.Subject, Proved: true, Settle: settle, Last: Counts{Total: 5, Current: 5}}
	long := Recorded{Generation: 1, Proved: true, Settle: 2 * settle, Counts: Counts{Total: 6, Current: 6}}
	e := short.ValidFor(o, long, settle)
	g.Expect(e.Settle).To(Equal(2 * settle))
	g.Expect(e.Last).To(Equal(long.Counts))
	e = e.ValidFor(o, Recorded{Generation: 1, Proved: true, Settle: settle, Counts: short.Last}, settle)
	g.Expect(e.Settle).To(Equal(2*settle), "the longer one stays")
}

// Two that edit the spec in turn, faster than it is proved, keep it from ever being migrated. The message says why.
func TestEditsThatNeverEndAreNamed(t *testing.T) {
	g := NewWithT(t)
	o := Observation{Now: now, Present: true, OptedIn: true, InScope: true, Established: true, Served: true,
		Subject: Subject{"u", 1, "v1"}, StoredVersions: []string{"v1alpha1", "v1"}, Shape: "old"}
	for range 3 {
		o.Evidence = o.Evidence.ValidFor(o, Recorded{}, settle)
		g.Expect(Decide(o).Sentence).NotTo(ContainSubstring("has been changed"))
		o.Now, o.Generation, o.Shape = o.Now.Add(settle/2), o.Generation+1, o.Shape+"er"
	}
	o.Evidence = o.Evidence.ValidFor(o, Recorded{}, settle)
	g.Expect(Decide(o).Sentence).To(ContainSubstring("its spec has been changed 3 times meanwhile"))
	o.Now = o.Now.Add(settle)
	o.Evidence.Rewritten, o.Shape = true, "new" // the settle time of the check is as long
	o.Evidence = o.Evidence.ValidFor(o, Recorded{}, settle)
	g.Expect(Decide(o).Sentence).To(ContainSubstring("its spec has been changed 3 times meanwhile"))

	o.Evidence.Proved, o.Generation = true, o.Generation+1
	g.Expect(o.Evidence.ValidFor(o, Recorded{}, settle).Edits).To(BeZero(), "a proof is carried over")
}
