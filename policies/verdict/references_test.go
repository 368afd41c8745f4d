package verdict

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/survivors"
)

// looked is what a look that began at a time has found.
func looked(at time.Time, found ...func(*survivors.Report)) *References {
	r := survivors.Report{Verdict: survivors.NoneFound}
	for _, add := range found {
		add(&r)
	}
	return &References{At: at, Report: r}
}

// group is what two objects name at a place, one of them by name.
func group(place string, effect survivors.Effect, clears survivors.Clearer) survivors.Group {
	return survivors.Group{
		Place: place, Effect: effect, Clears: clears, Title: "the title", Consequence: "what happens", Remediation: "do this", CRD: widgets, Version: "v1alpha1", Count: 2,
		References: []survivors.Reference{{Object: survivors.ObjectRef{Resource: "services", Namespace: "garden", Name: "rose"}, Path: "spec.to"}},
	}
}

func reference(r *survivors.Report) {
	r.Found = append(r.Found, group("owner-references", survivors.LosesData, survivors.ByMoult))
}

func policy(r *survivors.Report) {
	r.Found = append(r.Found, group("admission-policies", survivors.StopsSilently, survivors.ByCommit))
}

func waits(r *survivors.Report) {
	r.Found = append(r.Found, group("cluster-api-references", survivors.BreaksAtRemoval, survivors.ByController))
}

func cosmetic(r *survivors.Report) {
	r.Found = append(r.Found, group("last-applied", survivors.Cosmetic, survivors.ByCommit))
}

func stash(r *survivors.Report) {
	g := group("kubevirt-snapshot-revisions", survivors.BreaksAtUse, survivors.ByPerson)
	g.Stash, g.Movable = true, true
	r.Found = append(r.Found, g)
}

func unreadable(r *survivors.Report) {
	r.Places = append(r.Places, survivors.Coverage{Place: "owner-references", Effect: survivors.LosesData, Not: []string{"leases.coordination.k8s.io"}, Failed: true})
	r.NotLooked = append(r.NotLooked, survivors.NotLooked{Resource: "leases.coordination.k8s.io", Why: "it needs list"})
}

func leftOut(r *survivors.Report) {
	r.Places = append(r.Places, survivors.Coverage{Place: "owner-references", Effect: survivors.LosesData, Not: []string{"events"}})
	r.NotLooked = append(r.NotLooked, survivors.NotLooked{Resource: "events", LeftOut: true})
}

func damaged(r *survivors.Report) {
	g := group("kubevirt-snapshot-revisions", survivors.BreaksAtUse, survivors.ByPerson)
	g.Stash, g.CRD, g.Version = true, "", ""
	r.Unknown = append(r.Unknown, g)
}

func damagedSnapshot(r *survivors.Report) {
	damaged(r)
	r.Unknown[0].Effect = survivors.LosesData
}

// looks makes Moult look, and have found.
func looks(r *References) func(*Situation) {
	return func(s *Situation) { s.Looks, s.References = true, r }
}

func requires(what ...v1alpha1.Requirement) func(*Situation) { return require(0, what...) }

// lookedBefore is an open gate that has looked for references.
func lookedBefore(s *Situation) {
	remember(v1)(s)
	s.Remembered.ReferencesAt = &metav1.Time{Time: now.Add(-time.Minute)}
}

func repairs(s *Situation) { s.CRD.RepairsOwners = true }

func migrates(s *Situation) { s.CRD.MigratesStashes = true }

// stashElsewhere is a copy for which no rule declares how it is moved.
func stashElsewhere(r *survivors.Report) {
	g := group("kubevela-revisions", survivors.BreaksAtUse, survivors.ByCommit)
	g.Stash = true
	r.Found = append(r.Found, g)
}

// waitsForOwn is a copy that the project's controller moves.
func waitsForOwn(r *survivors.Report) {
	g := group("kubevirt-vm-revisions", survivors.BreaksAtUse, survivors.ByController)
	g.Stash, g.Movable = true, true
	r.Found = append(r.Found, g)
}

func TestWhatABlockerSaysIsToBeDone(t *testing.T) {
	for name, c := range map[string]struct {
		s    Situation
		says string
	}{
		"a reference that nobody repairs":                 {with(looks(looked(now, reference))), "do this"},
		"a reference that Moult repairs":                  {with(repairs, looks(looked(now, reference))), "Moult moves them by itself"},
		"a reference, where Moult moves copies":           {with(migrates, looks(looked(now, reference))), "do this"},
		"a copy that nobody moves":                        {with(looks(looked(now, stash))), "do this"},
		"a copy, where Moult repairs references":          {with(repairs, looks(looked(now, stash))), "do this"},
		"a copy that Moult moves":                         {with(migrates, looks(looked(now, stash))), "Moult moves them by itself"},
		"a copy that the project's controller moves, too": {with(migrates, looks(looked(now, waitsForOwn))), "the project's controller moves them, or Moult does"},
		"a copy of which nothing is declared":             {with(migrates, looks(looked(now, stashElsewhere))), "do this"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.s.named(c.s.References.Report.Found[0]).Action).To(HavePrefix(c.says))
		})
	}
}

func TestWhatElseNamesTheVersions(t *testing.T) {
	both := requires(v1alpha1.NoReferences, v1alpha1.NoStashes)
	asked := func(s *Situation) { s.Asked = now }
	for name, c := range map[string]struct {
		s        Situation
		state    State
		reason   string
		says     string
		kinds    []string // of the blockers
		warnings []string // kinds
		lookFrom time.Time
	}{
		"nobody looks, and nobody asked":      {s: safe(), state: Ready, reason: v1alpha1.ReasonSafeToRemove, says: "other objects that may name it were not looked at"},
		"nobody looks, and somebody has to":   {s: with(both), state: Stalled, reason: v1alpha1.ReasonReferencesUnknown, says: "install Moult with clusters/components/references", kinds: []string{"ReferencesUnknown"}},
		"nobody has looked yet":               {s: with(both, asked, looks(nil)), state: Progressing, reason: v1alpha1.ReasonReferencesUnknown, says: "looking through the cluster", lookFrom: now},
		"that was before it was asked":        {s: with(both, asked, looks(looked(now.Add(-time.Minute)))), state: Progressing, reason: v1alpha1.ReasonReferencesUnknown, lookFrom: now},
		"that was before the gate was closed": {s: with(both, func(s *Situation) { s.ClosedAt = now }, looks(looked(now.Add(-time.Minute)))), state: Progressing, reason: v1alpha1.ReasonReferencesUnknown, lookFrom: now},
		"nothing was found":                   {s: with(both, looks(looked(now))), state: Ready, reason: v1alpha1.ReasonSafeToRemove, says: "nothing else that was looked at named it at 2026-01-02T03:04:05Z"},
		"what is cosmetic does not matter":    {s: with(both, looks(looked(now, cosmetic))), state: Ready, reason: v1alpha1.ReasonSafeToRemove},
		"an owner reference that nobody repairs": {s: with(both, looks(looked(now, reference))), state: Stalled, reason: v1alpha1.ReasonStillReferenced,
			says: "owner-references (2, loses data)", kinds: []string{"owner-references"}, lookFrom: now.Add(lookEvery)},
		"an owner reference that Moult repairs": {s: with(both, repairs, looks(looked(now, reference))), state: Progressing, reason: v1alpha1.ReasonStillReferenced,
			kinds: []string{"owner-references"}, lookFrom: now.Add(lookEvery)},
		"a reference that its controller moves": {s: with(both, looks(looked(now, waits))), state: Progressing, reason: v1alpha1.ReasonStillReferenced,
			kinds: []string{"cluster-api-references"}, lookFrom: now.Add(lookEvery)},
		"a policy needs a commit, whatever moves by itself": {s: with(both, repairs, looks(looked(now, reference, policy))), state: Stalled, reason: v1alpha1.ReasonStillReferenced,
			kinds: []string{"owner-references", "admission-policies"}, lookFrom: now.Add(lookEvery)},
		"a stashed copy": {s: with(both, looks(looked(now, stash))), state: Stalled, reason: v1alpha1.ReasonStillStashed,
			says: "other objects hold copies at v1alpha1: kubevirt-snapshot-revisions (2, breaks at use)", kinds: []string{"kubevirt-snapshot-revisions"}, lookFrom: now.Add(lookEvery)},
		"a stashed copy that Moult moves": {s: with(both, migrates, looks(looked(now, stash))), state: Progressing, reason: v1alpha1.ReasonStillStashed,
			kinds: []string{"kubevirt-snapshot-revisions"}, lookFrom: now.Add(lookEvery)},
		"a stashed copy that Moult does not know to move": {s: with(both, migrates, looks(looked(now, stash, stashElsewhere))), state: Stalled, reason: v1alpha1.ReasonStillStashed,
			kinds: []string{"kubevirt-snapshot-revisions", "kubevela-revisions"}, lookFrom: now.Add(lookEvery)},
		"only stashes are asked about": {s: with(requires(v1alpha1.NoStashes), looks(looked(now, reference, policy))), state: Ready, reason: v1alpha1.ReasonSafeToRemove,
			warnings: []string{"owner-references", "admission-policies"}},
		"only references are asked about":        {s: with(requires(v1alpha1.NoReferences), looks(looked(now, stash))), state: Ready, reason: v1alpha1.ReasonSafeToRemove},
		"nothing is asked about: what is silent": {s: with(looks(looked(now, reference, policy, waits, cosmetic, stash))), state: Ready, reason: v1alpha1.ReasonSafeToRemove, warnings: []string{"owner-references", "admission-policies"}},
		"nothing is asked about, and not all could be read": {s: with(looks(looked(now, unreadable, leftOut))), state: Ready, reason: v1alpha1.ReasonSafeToRemove,
			warnings: []string{"ReferencesUnknown"}},
		"a resource that could not be read": {s: with(both, looks(looked(now, unreadable))), state: Progressing, reason: v1alpha1.ReasonReferencesUnknown,
			says: "1 resource could not be looked at: leases.coordination.k8s.io", kinds: []string{"ReferencesUnknown"}, lookFrom: now.Add(lookEvery)},
		"a resource that was left out on purpose is told": {s: with(both, looks(looked(now, leftOut))), state: Ready, reason: v1alpha1.ReasonSafeToRemove, warnings: []string{"ReferencesUnknown"}},
		"a copy that cannot be read": {s: with(both, looks(looked(now, damaged))), state: Progressing, reason: v1alpha1.ReasonReferencesUnknown,
			kinds: []string{"kubevirt-snapshot-revisions"}, lookFrom: now.Add(lookEvery)},
		"nothing is asked about: what may lose data and cannot be read": {s: with(looks(looked(now, damagedSnapshot))), state: Ready, reason: v1alpha1.ReasonSafeToRemove,
			warnings: []string{"kubevirt-snapshot-revisions"}},
		"a copy that cannot be read is no reference": {s: with(requires(v1alpha1.NoReferences), looks(looked(now, damaged))), state: Ready, reason: v1alpha1.ReasonSafeToRemove},
		"a look that failed": {s: with(both, looks(&References{At: now, Failure: "the API server does not answer"})), state: Progressing, reason: v1alpha1.ReasonReferencesUnknown,
			says: "the API server does not answer", kinds: []string{"ReferencesUnknown"}, lookFrom: now.Add(lookEvery)},
		"an open gate stays open until somebody has looked":  {s: with(both, lookedBefore, looks(nil)), state: Ready, reason: v1alpha1.ReasonSafeToRemove},
		"an open gate stays open if not all can be read now": {s: with(both, lookedBefore, looks(looked(now, unreadable))), state: Ready, reason: v1alpha1.ReasonSafeToRemove, warnings: []string{"ReferencesUnknown"}},
		"an open gate that did not ask has to look":          {s: with(both, remember(v1), asked, looks(nil)), state: Progressing, reason: v1alpha1.ReasonReferencesUnknown, lookFrom: now},
		"an open gate closes if something comes to name it":  {s: with(both, lookedBefore, looks(looked(now, policy))), state: Stalled, reason: v1alpha1.ReasonStillReferenced, kinds: []string{"admission-policies"}, lookFrom: now.Add(lookEvery)},
		"what an earlier process has said holds until it looks": {s: with(remember(v1), looks(nil), func(s *Situation) { s.Noted = []v1alpha1.Blocker{{Kind: "admission-policies"}} }), state: Ready, reason: v1alpha1.ReasonSafeToRemove,
			warnings: []string{"admission-policies"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v := Judge(c.s)
			g.Expect(v.State).To(Equal(c.state), v.Message)
			g.Expect(v.Reason).To(Equal(c.reason), v.Message)
			g.Expect(v.Message).To(ContainSubstring(c.says))
			g.Expect(kinds(v.Blockers)).To(Equal(c.kinds))
			g.Expect(kinds(v.Warnings)).To(Equal(c.warnings))
			g.Expect(v.LookFrom).To(Equal(c.lookFrom))
			for _, b := range v.Blockers {
				g.Expect(b.Message).NotTo(BeEmpty())
				g.Expect(b.Action).NotTo(BeEmpty())
			}
		})
	}
}

func kinds(blockers []v1alpha1.Blocker) (kinds []string) {
	for _, b := range blockers {
		kinds = append(kinds, b.Kind)
	}
	return kinds
}

func TestABlockerSaysWhoNamesItWhatHappensAndWhatToDo(t *testing.T) {
	g := NewWithT(t)
	v := Judge(with(requires(v1alpha1.NoReferences), looks(looked(now, policy))))
	g.Expect(v.Blockers).To(ConsistOf(v1alpha1.Blocker{Kind: "admission-policies",
		Message: "stops silently: 2 fields of the title name v1alpha1, for example services garden/rose in spec.to: what happens", Action: "do this"}))
}

func TestABlockerSaysWhyAReferenceIsOne(t *testing.T) {
	g := NewWithT(t)
	because := func(r *survivors.Report) {
		policy(r)
		r.Found[0].References[0].Why = "a rule of it"
	}
	v := Judge(with(requires(v1alpha1.NoReferences), looks(looked(now, because))))
	g.Expect(v.Blockers).To(ConsistOf(HaveField("Message", ContainSubstring("for example services garden/rose in spec.to (a rule of it): what happens"))))
}

// A gate that is held asks the API server about all of a cluster again and again, but not all the time.
func TestWhenAGateThatIsHeldLooksAgain(t *testing.T) {
	for name, c := range map[string]struct{ every, want time.Duration }{
		"after half a minute":                      {0, 30 * time.Second},
		"after half a minute, where it is patient": {time.Hour, 30 * time.Second},
		"as often as an open gate does":            {10 * time.Second, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(with(requires(v1alpha1.NoReferences), looks(looked(now, policy)), func(s *Situation) { s.Every = c.every }))
			NewWithT(t).Expect(v.LookFrom).To(Equal(now.Add(c.want)))
		})
	}
}

// Otherwise a gate that is held would have its status written after each look.
func TestALookThatFindsTheSameSaysTheSame(t *testing.T) {
	g := NewWithT(t)
	at := func(look time.Time) Verdict {
		v := Judge(with(requires(v1alpha1.NoReferences), looks(looked(look, policy, unreadable))))
		v.LookFrom = time.Time{}
		return v
	}
	g.Expect(at(now.Add(-time.Hour))).To(Equal(at(now)))
}

// The proof goes on naming the look that the gate was opened by, or each repeated look
// would have the status written.
func TestAnOpenGateNamesTheLookThatOpenedIt(t *testing.T) {
	g := NewWithT(t)
	open := func(change func(*Situation)) time.Time {
		s := with(requires(v1alpha1.NoReferences), remember(v1), change)
		s.Every = 10 * time.Minute
		s.Remembered.ReferencesAt = &metav1.Time{Time: now.Add(-time.Hour)}
		return Judge(s).Proof.ReferencesAt.Time
	}
	g.Expect(open(looks(nil))).To(Equal(now.Add(-time.Hour)))
	g.Expect(open(looks(looked(now.Add(-55 * time.Minute))))).To(Equal(now.Add(-time.Hour)))
	g.Expect(open(looks(looked(now.Add(-50*time.Minute-1))))).To(Equal(now.Add(-time.Hour)), "it is not old yet")
	g.Expect(open(looks(looked(now.Add(-50*time.Minute))))).To(Equal(now.Add(-50*time.Minute)), "it has just grown old")
	g.Expect(open(looks(looked(now)))).To(Equal(now), "it has grown old")
	g.Expect(open(looks(looked(now, unreadable)))).To(Equal(now.Add(-time.Hour)), "that look does not prove it")
}

func TestOfOtherNamespacesNothingIsNamed(t *testing.T) {
	g := NewWithT(t)
	report := looked(now, reference, damaged).Report
	g.Expect((&References{Report: report}).Disclose("garden").Report.Found).To(Equal(report.Found))
	public := looks((&References{At: now, Report: report}).Disclose("team-b"))
	v := Judge(with(requires(v1alpha1.NoReferences), public))
	g.Expect(v.Blockers[0].Message).To(And(Not(ContainSubstring("rose")), ContainSubstring("2 fields of the title name v1alpha1 (names are left out, "+
		"because readers of this VersionRemoval may not be allowed to see the objects; `moult survivors widgets.example.com --secrets` lists them to an administrator): what happens")))
	v = Judge(with(requires(v1alpha1.NoStashes), looks((&References{At: now, Report: looked(now, damaged).Report}).Disclose("team-b"))))
	g.Expect(v.Blockers[0].Message).To(And(Not(ContainSubstring("rose")), ContainSubstring("could not be read (names are left out, because"),
		ContainSubstring("`moult survivors widgets.example.com --secrets`")))
	g.Expect(v.Blockers[0].Action).To(ContainSubstring("`moult survivors widgets.example.com --secrets` names them"))
	g.Expect(report.Found[0].References).To(HaveLen(1), "what is disclosed is a copy")
	g.Expect((&References{Failure: "team-a/rose says no"}).Disclose("team-b").Failure).NotTo(ContainSubstring("rose"))
}

func TestWhatWasNotedBefore(t *testing.T) {
	g := NewWithT(t)
	g.Expect(kinds(Noted([]v1alpha1.Blocker{{Kind: v1alpha1.ReasonStillServed}, {Kind: "owner-references"}, {Kind: v1alpha1.ReasonReferencesUnknown}}))).
		To(Equal([]string{"owner-references", "ReferencesUnknown"}))
}
