package plan

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
)

var (
	now    = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	settle = time.Minute
	v1     = Subject{UID: "u", Generation: 3, StorageVersion: "v1"}
)

// fresh is a CRD whose storage version has just been flipped, with nothing in
// the way of a migration.
func fresh() Observation {
	return Observation{
		Now: now, Present: true, OptedIn: true, InScope: true, Established: true, Served: true,
		Subject: v1, StoredVersions: []string{"v1alpha1", "v1"},
		Evidence: Begin(v1, Recorded{}, now, settle),
	}
}

func with(change func(*Observation)) Observation {
	o := fresh()
	change(&o)
	return o
}

// proved changes the evidence of a fresh CRD.
func evident(change func(*Evidence)) Observation {
	return with(func(o *Observation) { change(&o.Evidence) })
}

// surveyOf is a survey that has just covered the versions.
func surveyOf(versions ...string) Surveyed { return Surveyed{Versions: versions, At: now} }

func TestEachRule(t *testing.T) {
	later := now.Add(time.Second)
	failure := &Failure{Reason: v1alpha1.ReasonObjectsFailed, Message: "3 of 10 objects failed"}
	for name, c := range map[string]struct {
		o        Observation
		rule     string
		step     Step
		reason   string
		sentence string // a part of it
		until    time.Time
	}{
		"a CRD that is gone is forgotten": {o: Observation{Now: now}, rule: "CRDIsGone", step: Forget},
		"a CRD that lost its label gets its condition withdrawn": {
			o: with(func(o *Observation) { o.OptedIn = false }), rule: "NotOptedIn", step: Withdraw},
		"a CRD of another group is left alone": {
			o: with(func(o *Observation) { o.InScope = false }), rule: "GroupOutOfScope", step: Leave},
		"a paused CRD is held": {
			o: with(func(o *Observation) { o.Paused = true }), rule: "Paused", step: Hold,
			reason: v1alpha1.ReasonPaused, sentence: "remove the annotation moult.dev/paused"},
		"the in-tree migrator goes first": {
			o: with(func(o *Observation) { o.InTree = InTree{Running: true, Begun: now} }), rule: "InTreeMigratorAtWork", step: Hold,
			reason: v1alpha1.ReasonStandingBack, sentence: "StorageMigrating is True", until: now.Add(30 * time.Second)},
		"a CRD that is not established waits": {
			o: with(func(o *Observation) { o.Established = false }), rule: "NotEstablished", step: Hold,
			reason: v1alpha1.ReasonNotEstablished, sentence: "NamesAccepted"},
		"an unserved storage version is said plainly": {
			o: with(func(o *Observation) { o.Served = false }), rule: "StorageVersionNotServed", step: Hold,
			reason: v1alpha1.ReasonStorageVersionNotServed, sentence: "set served: true on version v1"},
		"a failure is waited out": {
			o:    evident(func(e *Evidence) { e.Failure, e.RetryAt = failure, later }),
			rule: "BackingOff", step: Wait, reason: failure.Reason, sentence: failure.Message, until: later},
		"a failure that is over lets work begin again, and goes on being told": {
			o:    evident(func(e *Evidence) { e.Failure, e.RetryAt = failure, now }),
			rule: "NotRewritten", step: Rewrite, reason: failure.Reason, sentence: failure.Message},
		"a proved and clean CRD rests": {
			o:    with(func(o *Observation) { o.Evidence.Proved, o.StoredVersions = true, []string{"v1"} }),
			rule: "Proved", step: Rest, reason: v1alpha1.ReasonMigrated, sentence: "stored at v1"},
		"a proved CRD is surveyed when versions are to go": {
			o: with(func(o *Observation) {
				o.Evidence.Proved, o.StoredVersions, o.Removal.Versions = true, []string{"v1"}, []string{"v1alpha1"}
			}),
			rule: "NotSurveyed", step: Survey, reason: v1alpha1.ReasonMigrated},
		"a surveyed CRD rests": {
			o: with(func(o *Observation) {
				o.Evidence.Proved, o.StoredVersions, o.Removal.Versions = true, []string{"v1"}, []string{"v1alpha1"}
				o.Evidence.Survey = surveyOf("v1alpha1", "v1beta1")
			}),
			rule: "Proved", step: Rest, reason: v1alpha1.ReasonMigrated},
		"a survey older than the request is repeated": {
			o: with(func(o *Observation) {
				o.Evidence.Proved, o.StoredVersions, o.Removal = true, []string{"v1"}, Removal{Versions: []string{"v1alpha1"}, Since: later}
				o.Evidence.Survey = surveyOf("v1alpha1")
			}),
			rule: "NotSurveyed", step: Survey, reason: v1alpha1.ReasonMigrated},
		"a failed survey waits, and the CRD stays migrated": {
			o: with(func(o *Observation) {
				o.Evidence.Proved, o.StoredVersions, o.Removal.Versions = true, []string{"v1"}, []string{"v1alpha1"}
				o.Evidence.Survey = Surveyed{Failure: failure, NextAt: later}
			}),
			rule: "Proved", step: Rest, reason: v1alpha1.ReasonMigrated, until: later},
		"a survey under way is followed without a word": {
			o: with(func(o *Observation) {
				o.Evidence.Proved, o.StoredVersions = true, []string{"v1"}
				o.Walking = &Walking{Subject: v1, Mode: Surveying, Counts: Counts{Total: 10, Failed: 3}}
			}),
			rule: "WalkUnderWay", step: Follow, reason: v1alpha1.ReasonMigrated, sentence: "stored at v1"},
		"a proved CRD is trimmed": {
			o:    evident(func(e *Evidence) { e.Proved = true }),
			rule: "ProvedNotTrimmed", step: Trim, reason: v1alpha1.ReasonMigrated},
		"a list that names the wrong version alone is trimmed too": {
			o:    with(func(o *Observation) { o.Evidence.Proved, o.StoredVersions = true, []string{"v1alpha1"} }),
			rule: "ProvedNotTrimmed", step: Trim, reason: v1alpha1.ReasonMigrated},
		"a walk under way is followed": {
			o: with(func(o *Observation) {
				o.Walking = &Walking{Subject: v1, Mode: Rewriting, Counts: Counts{Total: 10, Rewritten: 3, Current: 1, Failed: 1}}
			}),
			rule: "WalkUnderWay", step: Follow, reason: v1alpha1.ReasonMigrating, sentence: "5 of 10 objects, 1 failed"},
		"a look at all objects comes first": {
			o: with(func(o *Observation) {
				o.Walking = &Walking{Subject: v1, Mode: Rewriting, Looking: true, Counts: Counts{Total: 10, Current: 4}}
			}),
			rule: "WalkUnderWay", step: Follow, reason: v1alpha1.ReasonMigrating,
			sentence: "looking at every object first, for fields that it would lose at v1: 4 of 10 objects, 0 failed"},
		"an object that was deleted since it was listed is done, too": {
			o: with(func(o *Observation) {
				o.Walking = &Walking{Subject: v1, Mode: Rewriting, Counts: Counts{Total: 10, Rewritten: 3, Current: 1, Gone: 2}}
			}),
			rule: "WalkUnderWay", step: Follow, reason: v1alpha1.ReasonMigrating, sentence: "6 of 10 objects"},
		"a walk whose permission to drop fields was taken back is not followed": {
			o: with(func(o *Observation) {
				o.Walking = &Walking{Subject: v1, Mode: Rewriting, MayDrop: []string{"spec.a", "spec.b"}}
				o.MayDrop = []string{"spec.b"}
			}),
			rule: "NotRewritten", step: Rewrite, reason: v1alpha1.ReasonMigrating},
		"nor one whose permission to lose ownership was": {
			o: with(func(o *Observation) {
				o.Walking = &Walking{Subject: v1, Mode: Rewriting, MayLose: []string{"v1alpha1"}}
			}),
			rule: "NotRewritten", step: Rewrite, reason: v1alpha1.ReasonMigrating},
		"a walk is followed on when more is allowed": {
			o: with(func(o *Observation) {
				o.Walking = &Walking{Subject: v1, Mode: Rewriting, Counts: Counts{Total: 10}, MayDrop: []string{"spec.b"}}
				o.MayDrop = []string{"spec.a", "spec.b"}
			}),
			rule: "WalkUnderWay", step: Follow, reason: v1alpha1.ReasonMigrating, sentence: "0 of 10 objects"},
		"a check under way is followed": {
			o: with(func(o *Observation) {
				o.Evidence.WindowEnd, o.Walking = now, &Walking{Subject: v1, Mode: Checking, Counts: Counts{Total: 10}}
			}),
			rule: "WalkUnderWay", step: Follow, reason: v1alpha1.ReasonVerifying, sentence: "0 of 10 objects"},
		"one that began before a settle time that has begun since is not": {
			o: with(func(o *Observation) {
				o.Evidence.Rewritten, o.Evidence.WindowEnd, o.Walking = true, later, &Walking{Subject: v1, Mode: Checking}
			}),
			rule: "WindowOpen", step: Wait, reason: v1alpha1.ReasonSettling, until: later},
		"nor is a survey whose proof is contradicted": {
			o:    with(func(o *Observation) { o.Walking = &Walking{Subject: v1, Mode: Surveying} }),
			rule: "NotRewritten", step: Rewrite, reason: v1alpha1.ReasonMigrating},
		"a walk of another subject is not followed": {
			o: with(func(o *Observation) {
				o.Walking = &Walking{Subject: Subject{UID: "u", Generation: 2, StorageVersion: "v1"}}
			}),
			rule: "NotRewritten", step: Rewrite, reason: v1alpha1.ReasonMigrating},
		"a flipped CRD is rewritten at once": {
			o: fresh(), rule: "NotRewritten", step: Rewrite, reason: v1alpha1.ReasonMigrating, sentence: "rewriting objects at v1"},
		"one whose schemas are new waits until every API server has them": {
			o:    evident(func(e *Evidence) { e.Shape.Until = later }),
			rule: "ShapeIsNew", step: Wait, reason: v1alpha1.ReasonSettling, sentence: "before any object is rewritten", until: later},
		"and so does a survey": {
			o: with(func(o *Observation) {
				o.Evidence.Proved, o.StoredVersions, o.Removal.Versions = true, []string{"v1"}, []string{"v1alpha1"}
				o.Evidence.Shape.Until = later
			}),
			rule: "Proved", step: Rest, reason: v1alpha1.ReasonMigrated, until: later},
		"a rewritten CRD waits for its window to close": {
			o:    evident(func(e *Evidence) { e.Rewritten, e.WindowEnd = true, later }),
			rule: "WindowOpen", step: Wait, reason: v1alpha1.ReasonSettling, until: later},
		"a window that was opened once more says why": {
			o:    evident(func(e *Evidence) { e.Rewritten, e.WindowEnd, e.Altered = true, later, "a webhook changes the objects" }),
			rule: "WindowOpen", step: Wait, reason: v1alpha1.ReasonSettling, sentence: "; rewritten; once more, since a webhook changes the objects", until: later},
		"a clean CRD waits for its window to close before it is checked": {
			o:    with(func(o *Observation) { o.StoredVersions = []string{"v1"} }),
			rule: "WindowOpen", step: Wait, reason: v1alpha1.ReasonSettling, until: now.Add(settle)},
		"a rewritten CRD is checked when its window has closed": {
			o:    evident(func(e *Evidence) { e.Rewritten, e.WindowEnd = true, now }),
			rule: "NotChecked", step: Check, reason: v1alpha1.ReasonVerifying},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := Decide(c.o)
			g.Expect(d.Rule).To(Equal(c.rule))
			g.Expect(d.Step).To(Equal(c.step))
			g.Expect(d.Reason).To(Equal(c.reason))
			g.Expect(d.Sentence).To(ContainSubstring(c.sentence))
			g.Expect(d.Until).To(Equal(c.until))
		})
	}
}

// What is written to the condition is written again when it changes, so it says no more than there is to say.
func TestASentenceEndsWhereThereIsNothingMoreToSay(t *testing.T) {
	const settling = "waiting until no API server can still write at a version older than v1, before every object is checked"
	for name, c := range map[string]struct {
		evidence Evidence
		want     string
	}{
		"nothing was counted":              {Evidence{Subject: v1, Proved: true, Settle: settle}, v1alpha1.Proved("v1", settle)},
		"objects were counted":             {Evidence{Subject: v1, Proved: true, Settle: settle, Last: Counts{Total: 7, Current: 7}}, v1alpha1.Proved("v1", settle) + ": 7 of 7 objects, 0 failed"},
		"a window for the first time":      {Evidence{Subject: v1, WindowEnd: now.Add(1)}, settling},
		"a window after objects are moved": {Evidence{Subject: v1, WindowEnd: now.Add(1), Rewritten: true}, settling + "; rewritten"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(with(func(o *Observation) { o.Evidence, o.StoredVersions = c.evidence, []string{"v1"} }))
			NewWithT(t).Expect(d.Sentence).To(Equal(c.want))
		})
	}
}

// The order is part of the specification: a rule further up wins.
func TestTheOrderOfTheRules(t *testing.T) {
	g := NewWithT(t)
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.name
	}
	g.Expect(names).To(Equal([]string{
		"CRDIsGone", "NotOptedIn", "GroupOutOfScope", "Paused", "Undone", "InTreeMigratorAtWork", "NotEstablished",
		"StorageVersionNotServed", "BackingOff", "ProvedNotTrimmed", "WalkUnderWay", "NotSurveyed", "Proved",
		"ShapeIsNew", "NotRewritten", "WindowOpen", "NotChecked",
	}))
}

func TestRulesFurtherUpWin(t *testing.T) {
	everything := Observation{
		Now: now, Subject: v1, Paused: true, Flips: fighting, InTree: InTree{Running: true, Begun: now}, StoredVersions: []string{"v1alpha1"},
		Removal:  Removal{Versions: []string{"v1alpha1"}},
		Evidence: Evidence{Subject: v1, Proved: true, Failure: &Failure{}, RetryAt: now.Add(1), WindowEnd: now.Add(1)},
		Walking:  &Walking{Subject: v1},
	}
	relax := []struct {
		rule  string
		relax func(*Observation)
	}{
		{"CRDIsGone", func(o *Observation) { o.Present = true }},
		{"NotOptedIn", func(o *Observation) { o.OptedIn = true }},
		{"GroupOutOfScope", func(o *Observation) { o.InScope = true }},
		{"Paused", func(o *Observation) { o.Paused = false }},
		{"Undone", func(o *Observation) { o.Flips = Turns{} }},
		{"InTreeMigratorAtWork", func(o *Observation) { o.InTree = InTree{} }},
		{"NotEstablished", func(o *Observation) { o.Established = true }},
		{"StorageVersionNotServed", func(o *Observation) { o.Served = true }},
		{"BackingOff", func(o *Observation) { o.Evidence.Failure = nil }},
		{"ProvedNotTrimmed", func(o *Observation) { o.StoredVersions = []string{"v1"} }},
		{"WalkUnderWay", func(o *Observation) { o.Walking = nil }},
		{"NotSurveyed", func(o *Observation) { o.Evidence.Survey.Versions = []string{"v1alpha1"} }},
		{"Proved", func(o *Observation) {
			o.Evidence.Proved, o.StoredVersions, o.Evidence.Shape.Until = false, []string{"v1alpha1", "v1"}, now.Add(1)
		}},
		{"ShapeIsNew", func(o *Observation) { o.Evidence.Shape.Until = now }},
		{"NotRewritten", func(o *Observation) { o.Evidence.Rewritten = true }},
		{"WindowOpen", func(o *Observation) { o.Evidence.WindowEnd = now }},
	}
	g := NewWithT(t)
	for _, c := range relax {
		g.Expect(Decide(everything).Rule).To(Equal(c.rule))
		c.relax(&everything)
	}
	g.Expect(Decide(everything).Rule).To(Equal("NotChecked"))
}
