package plan

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

func TestHowFarAProofReaches(t *testing.T) {
	proved := Evidence{Subject: v1, Proved: true, WindowEnd: now.Add(-time.Hour)}
	for name, c := range map[string]struct {
		from Evidence
		to   Subject
		want bool
	}{
		"the same subject":                       {proved, v1, true},
		"one edit that leaves the storage alone": {proved, Subject{"u", 4, "v1"}, true},
		"two edits at once may hide a flip":      {proved, Subject{"u", 5, "v1"}, false},
		"an older generation was restored":       {proved, Subject{"u", 2, "v1"}, false},
		"a flip":                                 {proved, Subject{"u", 4, "v2"}, false},
		"a CRD made anew":                        {proved, Subject{"w", 3, "v1"}, false},
		"a CRD made anew, one edit later":        {proved, Subject{"w", 4, "v1"}, false},
		"no proof to carry":                      {Evidence{Subject: v1, Rewritten: true}, Subject{"u", 4, "v1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := c.from.about(c.to, now, settle)
			g.Expect(got.Subject).To(Equal(c.to))
			g.Expect(got.Proved).To(Equal(c.want))
			if !c.want {
				g.Expect(got).To(Equal(Evidence{Subject: c.to, Settle: settle, WindowEnd: now.Add(settle)}), "nothing is carried over")
			}
		})
	}
}

func TestWhatAnEarlierProcessLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		recorded          Recorded
		proved, rewritten bool
	}{
		"nothing":                          {},
		"a proof of this generation":       {Recorded{Generation: 3, Proved: true, Settle: settle}, true, false},
		"one after a shorter settle time":  {Recorded{Generation: 3, Proved: true, Settle: settle - 1, Rewritten: true}, false, true},
		"a rewriting walk":                 {Recorded{Generation: 3, Rewritten: true}, false, true},
		"a proof of an earlier generation": {Recorded{Generation: 2, Proved: true, Rewritten: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := Begin(v1, c.recorded, now, settle)
			g.Expect(e.Proved).To(Equal(c.proved))
			g.Expect(e.Rewritten).To(Equal(c.rewritten))
			g.Expect(e.WindowEnd).To(Equal(now.Add(settle)), "the window always starts anew")
		})
	}
}

func TestWhatIsObservedBesideTheEvidence(t *testing.T) {
	seen := Observation{Now: now, Subject: v1, ResourceVersion: "9", StoredVersions: []string{"v1"}, Unserved: []string{"v1alpha1"}, MayLose: []string{"v1beta1"}}
	edited := seen
	edited.Subject = Subject{"u", 4, "v1"}
	proof, hasty := Recorded{Generation: 3, Proved: true, Settle: settle}, Recorded{Generation: 3, Proved: true, Settle: settle - 1}
	for name, c := range map[string]struct {
		evidence        Evidence
		observation     Observation
		recorded        Recorded
		proved, trimmed bool
	}{
		"what is proved stays proved":              {Evidence{Subject: v1, Proved: true}, seen, Recorded{}, true, true},
		"it reaches over an edit":                  {Evidence{Subject: v1, Proved: true}, edited, proof, true, true},
		"what another process has proved counts":   {Evidence{Subject: v1, Rewritten: true}, seen, proof, true, true},
		"but not after a shorter settle time":      {Evidence{Subject: v1, Rewritten: true}, seen, hasty, false, false},
		"but not for another generation":           {Evidence{Subject: v1, Rewritten: true}, edited, proof, false, false},
		"nor is it of a CRD that was restored":     {Evidence{Subject: v1, SeenRV: "10", Proved: true}, seen, proof, false, false},
		"but a proof that was restored with it is": {Evidence{Subject: v1, SeenRV: "10"}, seen, proof, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := c.evidence.ValidFor(c.observation, c.recorded, settle)
			g.Expect(e.Subject).To(Equal(c.observation.Subject))
			g.Expect(e.Proved).To(Equal(c.proved))
			g.Expect(e.Trimmed).To(Equal(c.trimmed))
			g.Expect(e.SeenRV).To(Equal("9"))
			g.Expect(e.WritableUntil).To(Equal(map[string]time.Time{"v1alpha1": now.Add(settle)}))
			g.Expect(e.Survey.MayLose).To(Equal([]string{"v1beta1"}))
		})
	}
}

func TestWhatAWalkAddsToTheEvidence(t *testing.T) {
	failure := &Failure{Reason: "ObjectsFailed", Message: "some"}
	start := Evidence{Subject: v1, WindowEnd: now, WindowEndRV: "100", Failures: 2, Failure: failure, RetryAt: now}
	for name, c := range map[string]struct {
		from   Evidence
		walk   Outcome
		expect func(*WithT, Evidence)
	}{
		"a rewriting walk proves nothing": {start, Outcome{Mode: Rewriting, Counts: Counts{Current: 9}}, func(g *WithT, e Evidence) {
			g.Expect(e.Rewritten).To(BeTrue())
			g.Expect(e.Proved).To(BeFalse())
			g.Expect(e.Failure).To(BeNil())
			g.Expect(e.Failures).To(BeZero())
		}},
		"a check that finds nothing to rewrite is the proof": {start, Outcome{Mode: Checking, Started: now, Counts: Counts{Current: 9, Gone: 1}}, func(g *WithT, e Evidence) {
			g.Expect(e.Proved).To(BeTrue())
		}},
		"a check that began before the window ended proves nothing": {Evidence{Subject: v1, WindowEnd: now}, Outcome{Mode: Checking, Started: now.Add(-time.Nanosecond), ListedRV: "200", Counts: Counts{Current: 9}}, func(g *WithT, e Evidence) {
			g.Expect(e.Proved).To(BeFalse())
			g.Expect(e.WindowEndRV).To(BeEmpty())
		}},
		"a check that rewrites something opens a new window": {start, Outcome{Mode: Checking, ListedRV: "200", Counts: Counts{Current: 9, Rewritten: 1}}, func(g *WithT, e Evidence) {
			g.Expect(e.Proved).To(BeFalse())
			g.Expect(e.WindowEnd).To(Equal(now.Add(settle)))
			g.Expect(e.WindowEndRV).To(BeEmpty())
		}},
		"a check with failed objects proves nothing": {start, Outcome{Mode: Checking, Counts: Counts{Current: 9, Failed: 1}, Failure: failure}, func(g *WithT, e Evidence) {
			g.Expect(e.Proved).To(BeFalse())
			g.Expect(e.Failures).To(Equal(3))
			g.Expect(e.RetryAt).To(Equal(now.Add(20 * time.Second)))
			g.Expect(e.WindowEndRV).To(Equal("100"))
		}},
		"a failed check that rewrote something opens a new window too": {start, Outcome{Mode: Checking, Counts: Counts{Rewritten: 1, Failed: 1}, Failure: failure}, func(g *WithT, e Evidence) {
			g.Expect(e.WindowEnd).To(Equal(now.Add(settle)))
		}},
		"the first check tells where the window ended": {Evidence{Subject: v1}, Outcome{Mode: Checking, ListedRV: "300", Counts: Counts{Failed: 1}, Failure: failure}, func(g *WithT, e Evidence) {
			g.Expect(e.WindowEndRV).To(Equal("300"))
		}},
		"a check whose writes were altered may hide a stale object, so it opens a new window": {start, Outcome{Mode: Checking, ListedRV: "200", Counts: Counts{Current: 9}, Altered: "a webhook"}, func(g *WithT, e Evidence) {
			g.Expect(e.Proved).To(BeFalse())
			g.Expect(e.WindowEnd).To(Equal(now.Add(settle)))
			g.Expect(e.WindowEndRV).To(BeEmpty())
			g.Expect(e.Altered).To(Equal("a webhook"))
		}},
		"but only once": {Evidence{Subject: v1, WindowEnd: now, Altered: "a webhook"}, Outcome{Mode: Checking, Started: now, ListedRV: "200", Counts: Counts{Current: 9}, Altered: "a webhook"}, func(g *WithT, e Evidence) {
			g.Expect(e.Proved).To(BeTrue())
		}},
		"and an object that was plainly stale always does": {Evidence{Subject: v1, Altered: "a webhook"}, Outcome{Mode: Checking, Counts: Counts{Current: 9, Rewritten: 1}, Altered: "a webhook"}, func(g *WithT, e Evidence) {
			g.Expect(e.Proved).To(BeFalse())
			g.Expect(e.WindowEnd).To(Equal(now.Add(settle)))
		}},
		"what a rewriting walk meets says nothing of it": {Evidence{Subject: v1}, Outcome{Mode: Rewriting, Counts: Counts{Rewritten: 9}, Altered: "a webhook"}, func(g *WithT, e Evidence) {
			g.Expect(e.Altered).To(BeEmpty())
		}},
		"a failed rewriting walk is repeated": {start, Outcome{Mode: Rewriting, Failure: failure}, func(g *WithT, e Evidence) {
			g.Expect(e.Rewritten).To(BeFalse())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.expect(NewWithT(t), c.from.After(c.walk, now, settle))
		})
	}
}

func TestPausesGrowUpToTenMinutes(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Backoff(0)).To(Equal(5 * time.Second))
	g.Expect(Backoff(1)).To(Equal(10 * time.Second))
	g.Expect(Backoff(6)).To(Equal(320 * time.Second))
	g.Expect(Backoff(7)).To(Equal(10 * time.Minute))
	g.Expect(Backoff(1_000_000)).To(Equal(10 * time.Minute))
}

// Whatever happens in whatever order, storedVersions is only trimmed after a
// check that began after the window had closed, of the subject the CRD has now,
// and found nothing.
func TestNothingIsTrimmedWithoutACheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at, s := now, v1
		e := Begin(s, Recorded{}, at, settle)
		closed, checked := at.Add(settle), false
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
			if rapid.IntRange(0, 4).Draw(t, "edit") == 0 {
				was, jump := s, rapid.SampledFrom([]int64{1, 1, 2}).Draw(t, "generations")
				s.Generation += jump
				s.StorageVersion = rapid.SampledFrom([]string{"v1", "v1", "v2"}).Draw(t, "storage")
				if !checked || jump != 1 || was.StorageVersion != s.StorageVersion {
					closed, checked = at.Add(settle), false
				}
			}
			e = e.about(s, at, settle)
			o := fresh()
			o.Now, o.Subject, o.Evidence = at, s, e
			o.StoredVersions = rapid.SampledFrom([][]string{{"v1"}, {"v1alpha1", "v1"}}).Draw(t, "stored")
			d := Decide(o)
			switch d.Step {
			case Trim, Rest:
				if !checked {
					t.Fatalf("%s without a check of %+v", d.Step, s)
				}
			case Check:
				if at.Before(closed) {
					t.Fatalf("checked %s before the window closes", closed.Sub(at))
				}
				found := rapid.Int64Range(0, 1).Draw(t, "found")
				w := Outcome{Mode: Checking, Counts: Counts{Rewritten: found}}
				if rapid.Bool().Draw(t, "failed") {
					w.Failure = &Failure{}
				}
				e = e.After(w, at, settle)
				checked = found == 0 && w.Failure == nil
				if found > 0 {
					closed = at.Add(settle)
				}
			case Rewrite:
				e = e.After(Outcome{Mode: Rewriting}, at, settle)
			case Forget, Withdraw, Leave, Hold, Wait, Follow, Survey:
			}
		}
	})
}

func TestWhenAVersionIsNotWritableAnyMore(t *testing.T) {
	g := NewWithT(t)
	e := Evidence{Subject: v1}.serving([]string{"v1alpha1"}, now, settle)
	g.Expect(e.WritableUntil).To(Equal(map[string]time.Time{"v1alpha1": now.Add(settle)}))
	later := now.Add(time.Second)
	g.Expect(e.serving([]string{"v1alpha1", "v1beta1"}, later, settle).WritableUntil).To(Equal(
		map[string]time.Time{"v1alpha1": now.Add(settle), "v1beta1": later.Add(settle)}), "since it was first seen so")
	again := e.serving(nil, later, settle)
	g.Expect(again.WritableUntil).To(BeEmpty(), "it is served again")
	g.Expect(again.serving([]string{"v1alpha1"}, later, settle).WritableUntil).To(HaveKeyWithValue("v1alpha1", later.Add(settle)))
}

func TestTheSchemasAreEverywhereASettleTimeAfterTheyWereFirstSeen(t *testing.T) {
	g := NewWithT(t)
	at := func(generation, after int64, digest string) Observation {
		return Observation{Now: now.Add(time.Duration(after)), Subject: Subject{"u", generation, "v1"}, Shape: digest}
	}
	e := Evidence{}.ValidFor(at(1, 0, "old"), Recorded{}, settle)
	g.Expect(e.Shape).To(Equal(Shape{"old", now.Add(settle)}), "it may be new")
	e = e.ValidFor(at(2, 1, "old"), Recorded{}, settle)
	g.Expect(e.Shape.Until).To(Equal(now.Add(settle)), "a flip leaves them as they are")
	g.Expect(e.WindowEnd).To(Equal(now.Add(settle + 1)))
	e = e.ValidFor(at(3, 2, "new"), Recorded{}, settle)
	e = e.ValidFor(at(4, 3, "old"), Recorded{}, settle)
	g.Expect(e.Shape).To(Equal(Shape{"old", now.Add(settle + 3)}), "they come back")
	again := e.ValidFor(at(6, 4, "old"), Recorded{}, settle)
	g.Expect(again.Shape.Until).To(Equal(now.Add(settle+4)), "they may have been others meanwhile")
	other := at(4, 4, "old")
	other.UID = "v"
	g.Expect(e.ValidFor(other, Recorded{}, settle).Shape.Until).To(Equal(now.Add(settle+4)), "so they may where the CRD was made again")
	e = e.ValidFor(at(4, 4, "old"), Recorded{Generation: 4, Proved: true, Settle: settle}, settle)
	g.Expect(e.Proved).To(BeTrue())
	g.Expect(e.Shape.Until).To(Equal(now.Add(settle+3)), "a proof says nothing of a survey's writes")
	e = Evidence{}.ValidFor(at(4, 5, "old"), Recorded{Generation: 4, Proved: true, Settle: settle}, settle)
	g.Expect(e.Shape.Until).To(Equal(now.Add(settle+5)), "where another process has proved all, the schemas may be new all the same")
}

func TestWhenAWalkThatFailedBegan(t *testing.T) {
	g := NewWithT(t)
	began := now.Add(-time.Minute)
	g.Expect(Evidence{Subject: v1}.After(Outcome{Mode: Checking, Failure: &Failure{}, Started: began}, now, settle).Tried).To(Equal(began))
	g.Expect(Evidence{Subject: v1}.Failed(Failure{}, now).Tried).To(Equal(now), "a trim begins and fails at once")
}

func TestAListThatIsDirtyAgainMakesTheProofWorthless(t *testing.T) {
	g := NewWithT(t)
	proved := Evidence{Subject: v1, Proved: true}
	g.Expect(proved.Seen(false, now, settle).Proved).To(BeTrue(), "not trimmed yet")
	trimmed := proved.Seen(true, now, settle)
	g.Expect(trimmed.Proved).To(BeTrue())
	g.Expect(trimmed.Seen(true, now, settle)).To(Equal(trimmed))
	g.Expect(trimmed.Seen(false, now, settle)).To(Equal(Evidence{Subject: v1, Settle: settle, WindowEnd: now.Add(settle)}))
	g.Expect(Evidence{Subject: v1}.Seen(true, now, settle).Trimmed).To(BeFalse(), "clean without a proof says nothing")
}

func TestACRDOlderThanTheOneSeenMakesTheEvidenceWorthless(t *testing.T) {
	proved := Evidence{Subject: v1, Proved: true, Trimmed: true, Rewritten: true, WindowEndRV: "90", SeenRV: "100"}
	for name, c := range map[string]struct {
		resourceVersion string
		kept            bool
	}{
		"the same":                    {"100", true},
		"a later one":                 {"101", true},
		"an older one":                {"99", false},
		"one that nobody can compare": {"x", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := proved.at(c.resourceVersion, now, settle)
			g.Expect(got.SeenRV).To(Equal(c.resourceVersion))
			got.SeenRV = proved.SeenRV
			if c.kept {
				g.Expect(got).To(Equal(proved))
			} else {
				g.Expect(got).To(Equal(Evidence{Subject: v1, Settle: settle, WindowEnd: now.Add(settle), SeenRV: "100"}))
			}
		})
	}
	NewWithT(t).Expect(Evidence{Subject: v1, Proved: true}.at("1", now, settle).Proved).To(BeTrue(), "the first sight is older than nothing")
}
