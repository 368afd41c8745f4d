package verdict

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

// The API server deletes objects with their CRD, if it can read them. A finalizer that is taken off leaves them in etcd.
func TestObjectsThatCouldNotBeDeletedHoldTheGate(t *testing.T) {
	g := NewWithT(t)
	v := Judge(with(func(s *Situation) {
		s.CRD.Deleting, s.CRD.DeletionFailed = true, "InstanceDeletionFailed: webhook down"
	}))
	g.Expect(v.Rule).To(Equal("LeftInEtcd"))
	g.Expect(v.State).To(Equal(Progressing))
	g.Expect(v.Reason).To(Equal(v1alpha1.ReasonDeletionFailed))
	g.Expect(v.Message).To(And(ContainSubstring("its objects cannot be: InstanceDeletionFailed: webhook down"), ContainSubstring("without the CRD's own finalizer")))

	v = Judge(with(func(s *Situation) { s.CRD.Deleting, s.Before = true, v1alpha1.ReasonDeletionFailed }))
	g.Expect(v.Reason).To(Equal(v1alpha1.ReasonDeletionFailed), "the API server takes back what failed with each attempt")
	g.Expect(v.Message).To(ContainSubstring("the API server tries again"))
	g.Expect(Judge(with(func(s *Situation) { s.Before = v1alpha1.ReasonDeletionFailed })).Reason).NotTo(Equal(v1alpha1.ReasonDeletionFailed), "the CRD is back")

	v = Judge(with(func(s *Situation) {
		s.CRD, s.Migration, s.Before, s.Paused = nil, nil, v1alpha1.ReasonDeletionFailed, true
	}))
	g.Expect(v.Rule).To(Equal("LeftInEtcd"))
	g.Expect(v.State).To(Equal(Progressing))
	g.Expect(v.Reason).To(Equal(v1alpha1.ReasonDeletionFailed))
	g.Expect(v.Message).To(And(ContainSubstring("may be left in etcd at v1alpha1"), ContainSubstring("bring the CRD back")))
}

// Others than the API server may have something to clean up.
func TestWhatElseADeletionWaitsForIsNamed(t *testing.T) {
	g, v := NewWithT(t), Judge(with(remembers, goes, func(s *Situation) { s.CRD.WaitsFor = []string{"example.com/waits"} }))
	g.Expect(v.Reason).To(Equal(v1alpha1.ReasonNotEstablished))
	g.Expect(v.Blockers).To(ConsistOf(blocked(v1alpha1.ReasonNotEstablished, "finalizers of others: example.com/waits", "see what holds those who own the finalizers")))
}

// allAtV1 is that all objects are proved, and lefts are those of a CRD that has gone.
var allAtV1, lefts = &v1alpha1.StoredAtStatus{UID: v1.UID, Generation: v1.Generation, Versions: []string{v1.StorageVersion}, Complete: true}, &v1alpha1.StoredAtStatus{UID: "former", Generation: 1, Versions: anyVersion}

func remembers(s *Situation) {
	v := Judge(*s)
	s.Record = Record{Before: v.Reason, StoredAt: v.StoredAt}
}

// goes marks the CRD as deleted. To the API server that is no other generation, but to delete it again is.
func goes(s *Situation) { s.CRD.Deleting = true }

func again(s *Situation) { s.CRD.Generation++ }

// gone is that the process sees it go, and unseen that it does not.
func gone(s *Situation) {
	if s.CRD != nil {
		s.Went = Went{UID: s.CRD.UID, Generation: s.CRD.Generation}
	}
	unseen(s)
}

func unseen(s *Situation) { s.CRD, s.Migration = nil, nil }

// returns makes the CRD anew.
func returns(changes ...func(*Situation)) func(*Situation) {
	return func(s *Situation) {
		fresh := with(changes...)
		s.CRD, s.Migration = fresh.CRD, fresh.Migration
		s.CRD.UID, s.Migration.Subject.UID, s.Migration.Evidence.Subject.UID = "another", "another", "another"
	}
}

// story is what is said of one step after the other, each of which remembers the one before.
func story(steps ...func(*Situation)) (reasons []string) {
	s := with()
	for _, step := range steps {
		step(&s)
		v := Judge(s)
		s.Record = Record{Before: v.Reason, StoredAt: v.StoredAt}
		reasons = append(reasons, v.Reason)
	}
	return reasons
}

// A finalizer that is taken off leaves no trace: it looks as if the API server had deleted all objects. So what was proved before decides.
func TestACRDThatGoesUnprovedHoldsTheGate(t *testing.T) {
	const (
		safe, going, nothing = v1alpha1.ReasonSafeToRemove, v1alpha1.ReasonNotEstablished, v1alpha1.ReasonNothingStored
		unproved, removed    = v1alpha1.ReasonDeletionUnproved, v1alpha1.ReasonAlreadyRemoved
	)
	still := func(*Situation) {}
	asks := func(versions ...string) func(*Situation) {
		return func(s *Situation) { s.Removal.Versions = versions }
	}
	flipsBack := func(s *Situation) {
		s.CRD.Generation++
		s.CRD.StorageVersion = "v1alpha1"
	}
	removes := func(s *Situation) { s.CRD.Versions = s.CRD.Versions[1:] }
	serves := func(s *Situation) {
		s.Removal.Require, s.CRD.Versions[0].Served = []v1alpha1.Requirement{v1alpha1.Unserved}, true
	}
	pauses := func(paused bool) func(*Situation) { return func(s *Situation) { s.Paused = paused } }
	unlooked := func(s *Situation) {
		s.Migration.Evidence.Proved, s.Migration.Decision.Reason = false, v1alpha1.ReasonMigrating
	}
	unlabelled := func(s *Situation) { s.CRD.OptedIn = false; unlooked(s) }
	const failed = v1alpha1.ReasonObjectsFailed
	tooEarly := func(s *Situation) {
		s.CRD.Versions = s.CRD.Versions[1:]
		unlooked(s)
		s.Migration.FailedBy = map[string]int64{plan.Unreadable: 3}
		s.Migration.Decision.Reason = failed
	}
	restarted := func(s *Situation) { s.Migration = nil }
	held := func(s *Situation) {
		s.Migration.Decision = plan.Decision{Step: plan.Hold, Reason: v1alpha1.ReasonPaused, Sentence: "paused"}
	}
	notSeen := at(v1alpha1.ReasonMigrating, "rewriting")
	for name, c := range map[string]struct {
		steps []func(*Situation)
		says  []string
	}{
		"proved":                    {steps: []func(*Situation){still, goes, still, gone, still}, says: []string{safe, going, going, nothing, nothing}},
		"proved, and deleted twice": {steps: []func(*Situation){still, goes, again, gone}, says: []string{safe, going, going, nothing}},
		"changed twice as it goes, and seen each time": {steps: []func(*Situation){still, goes, again, again, again, gone}, says: []string{safe, going, going, going, going, nothing}},
		"proved, and another process missed it": {steps: []func(*Situation){still, unseen, func(s *Situation) { s.Went = Went{UID: "another"} }, func(s *Situation) { s.Went = Went{UID: v1.UID, Generation: v1.Generation} }},
			says: []string{safe, unproved, unproved, nothing}},
		"seen to go, and asked by another process": {steps: []func(*Situation){still, gone, func(s *Situation) { s.Went = Went{} }, asks("v1")}, says: []string{safe, nothing, nothing, unproved}},
		"changed after it was looked at, and back": {
			steps: []func(*Situation){still, func(s *Situation) { again(s); gone(s); returns(removes, unlooked)(s) }, returns(removes)},
			says:  []string{safe, failed, removed},
		},
		"gone unseen, and back":          {steps: []func(*Situation){still, func(s *Situation) { unseen(s); returns(removes, unlooked)(s) }, unseen}, says: []string{safe, failed, unproved}},
		"gone as it was, and back":       {steps: []func(*Situation){still, func(s *Situation) { gone(s); returns(removes, unlooked)(s) }}, says: []string{safe, removed}},
		"changed after it was looked at": {steps: []func(*Situation){still, func(s *Situation) { again(s); gone(s) }, asks("v0")}, says: []string{safe, unproved, unproved}},
		"changed to and fro as it went":  {steps: []func(*Situation){still, goes, func(s *Situation) { again(s); again(s) }, gone}, says: []string{safe, going, unproved, unproved}},
		"removed, and back as it goes": {
			steps: []func(*Situation){func(s *Situation) { removes(s); s.CRD.OptedIn, s.Migration = false, nil }, goes, func(s *Situation) { again(s); s.CRD.Versions = with().CRD.Versions }, gone},
			says:  []string{removed, going, unproved, unproved},
		},
		"proved, and held by another rule": {steps: []func(*Situation){serves, goes, gone}, says: []string{v1alpha1.ReasonStillServed, going, nothing}},
		"proved, and paused":               {steps: []func(*Situation){func(s *Situation) { s.Paused = true }, goes, func(s *Situation) { s.Paused = false }, gone}, says: []string{v1alpha1.ReasonPaused, v1alpha1.ReasonPaused, going, nothing}},
		"proved, by the process before":    {steps: []func(*Situation){still, restarted, goes, gone}, says: []string{safe, v1alpha1.ReasonMigrating, going, nothing}},
		"proved, and nothing looks":        {steps: []func(*Situation){still, held, goes, gone}, says: []string{safe, v1alpha1.ReasonPaused, going, nothing}},
		"proved, and changed to where nothing looks": {
			steps: []func(*Situation){still, func(s *Situation) {
				again(s)
				held(s)
				s.Migration.Subject, s.Migration.Evidence = s.CRD.Subject, plan.Evidence{}
			}, goes, gone},
			says: []string{safe, v1alpha1.ReasonPaused, going, nothing},
		},
		"proved, changed, and not looked at yet": {steps: []func(*Situation){still, again, goes, gone}, says: []string{safe, v1alpha1.ReasonMigrating, going, nothing}},
		"proved, and another process may not look": {
			steps: []func(*Situation){still, func(s *Situation) { s.Migration.Evidence.Proved = false; held(s) }, goes, gone},
			says:  []string{safe, v1alpha1.ReasonPaused, going, nothing},
		},
		"proved, and no longer readable since its webhook is down": {
			steps: []func(*Situation){still, func(s *Situation) { again(s); tooEarly(s); s.Migration.Subject = s.CRD.Subject }, asks("v0"), goes, gone},
			says:  []string{safe, failed, failed, going, nothing},
		},
		"proved, and looked at again": {steps: []func(*Situation){still, unlooked, goes, gone}, says: []string{safe, v1alpha1.ReasonMigrating, unproved, unproved}},
		"removed though it was not proved": {
			steps: []func(*Situation){unlabelled, func(s *Situation) { removes(s); again(s) }, goes, gone},
			says:  []string{v1alpha1.ReasonNotOptedIn, removed, unproved, unproved},
		},
		"asked for what may be left, and back without it": {
			steps: []func(*Situation){still, goes, gone, asks("v1"), asks("v1alpha1"), func(s *Situation) {
				asks("v1")(s)
				returns(func(s *Situation) {
					s.CRD.Versions = []Version{{Name: "v2", Served: true}}
					s.CRD.StorageVersion, s.CRD.StoredVersions = "v2", []string{"v2"}
					unlooked(s)
				})(s)
			}},
			says: []string{safe, going, nothing, unproved, nothing, failed},
		},
		"not looked at before it goes":         {steps: []func(*Situation){goes, gone}, says: []string{unproved, unproved}},
		"not proved":                           {steps: []func(*Situation){notSeen, goes, gone}, says: []string{v1alpha1.ReasonMigrating, unproved, unproved}},
		"proved once":                          {steps: []func(*Situation){still, flipsBack, goes, gone}, says: []string{safe, v1alpha1.ReasonIntermediateRevisionRequired, unproved, unproved}},
		"changed as it went":                   {steps: []func(*Situation){still, goes, flipsBack, gone}, says: []string{safe, going, unproved, unproved}},
		"changed before it was seen to go":     {steps: []func(*Situation){still, func(s *Situation) { flipsBack(s); goes(s) }, gone}, says: []string{safe, unproved, unproved}},
		"asked for more as it goes":            {steps: []func(*Situation){still, goes, asks("v1alpha1", "v1"), gone, asks("v1alpha1")}, says: []string{safe, going, unproved, unproved, nothing}},
		"asked for more when it has gone":      {steps: []func(*Situation){still, goes, gone, asks("v1alpha1", "v1")}, says: []string{safe, going, nothing, unproved}},
		"asked for the storage version before": {steps: []func(*Situation){asks("v1alpha1", "v1"), goes, gone}, says: []string{v1alpha1.ReasonIntermediateRevisionRequired, unproved, unproved}},
		"removed":                              {steps: []func(*Situation){removes, goes, gone}, says: []string{removed, going, nothing}},
		"a version that never was":             {steps: []func(*Situation){func(s *Situation) { asks("v1alfa1")(s); s.CRD.OptedIn, s.Migration = false, nil }, goes, gone, asks("v1alpha1")}, says: []string{removed, going, nothing, unproved}},
		"back, and not established":            {steps: []func(*Situation){notSeen, goes, gone, returns(at(v1alpha1.ReasonNotEstablished, "its names are taken")), goes, gone}, says: []string{v1alpha1.ReasonMigrating, unproved, unproved, going, unproved, unproved}},
		"never there":                          {steps: []func(*Situation){unseen, asks("v1alpha1", "v1beta1")}, says: []string{nothing, nothing}},
		"asked for another when it has gone":   {steps: []func(*Situation){still, goes, gone, asks("v1beta1")}, says: []string{safe, going, nothing, nothing}},
		"never there, and paused": {
			steps: []func(*Situation){func(s *Situation) { unseen(s); s.Paused = true }, still, func(s *Situation) { s.Paused = false }},
			says:  []string{v1alpha1.ReasonPaused, v1alpha1.ReasonPaused, nothing},
		},
		"failed, paused, and looked at by another process": {
			steps: []func(*Situation){func(s *Situation) { tooEarly(s) }, pauses(true), restarted, pauses(false)},
			says:  []string{failed, v1alpha1.ReasonPaused, v1alpha1.ReasonPaused, failed},
		},
		"failed behind another reason, and looked at by another process": {
			steps: []func(*Situation){func(s *Situation) { tooEarly(s); s.Migration.Decision.Reason = v1alpha1.ReasonPaused }, restarted},
			says:  []string{v1alpha1.ReasonPaused, failed},
		},
		"left, paused, and back without the version": {
			steps: []func(*Situation){notSeen, goes, gone, pauses(true), returns(removes, unlooked), pauses(false), goes, gone},
			says:  []string{v1alpha1.ReasonMigrating, unproved, unproved, unproved, v1alpha1.ReasonPaused, failed, unproved, unproved},
		},
		"found unreadable, and the label is taken off": {
			steps: []func(*Situation){tooEarly, func(s *Situation) { s.CRD.OptedIn, s.Migration = false, nil }},
			says:  []string{failed, failed},
		},
		"left, and back without the version and the label": {
			steps: []func(*Situation){notSeen, goes, gone, returns(removes, unlabelled), goes, gone},
			says:  []string{v1alpha1.ReasonMigrating, unproved, unproved, removed, unproved, unproved},
		},
		"left, back, and proved": {
			steps: []func(*Situation){notSeen, goes, gone, returns(), goes, gone},
			says:  []string{v1alpha1.ReasonMigrating, unproved, unproved, safe, going, nothing},
		},
		"another knows, and it is back without the version": {
			steps: []func(*Situation){func(s *Situation) { s.StoredAt = lefts; removes(s); unlooked(s) }, still},
			says:  []string{failed, failed},
		},
		"another has proved it as it goes": {
			steps: []func(*Situation){func(s *Situation) {
				s.StoredAt = allAtV1
				goes(s)
			}, gone},
			says: []string{going, nothing},
		},
		"made, and seen as it goes": {steps: []func(*Situation){unseen, func(s *Situation) { returns()(s); goes(s) }, gone}, says: []string{nothing, unproved, unproved}},
		"another VersionRemoval has the proof, and asked for less": {
			steps: []func(*Situation){func(s *Situation) { gone(s); s.StoredAt = allAtV1 }, asks("v1"), asks("v1alpha1")},
			says:  []string{nothing, unproved, nothing},
		},
		"another VersionRemoval knows": {steps: []func(*Situation){func(s *Situation) { gone(s); s.StoredAt = lefts }, still}, says: []string{unproved, unproved}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(story(c.steps...)).To(Equal(c.says))
		})
	}
}

// What an older Moult has written is not forgotten, and what it has not written holds no gate.
func TestAStatusOfAnOlderMoultIsUnderstood(t *testing.T) {
	as := func(reason string, change func(*v1alpha1.VersionRemovalStatus)) Record {
		removal := &v1alpha1.VersionRemoval{}
		removal.Status.Conditions = []metav1.Condition{{Type: "Ready", Reason: reason}}
		change(&removal.Status)
		return RecordOf(removal)
	}
	same, asked := func(*v1alpha1.VersionRemovalStatus) {}, []string{"v1alpha1"}
	g := NewWithT(t)
	g.Expect(RecordOf(&v1alpha1.VersionRemoval{})).To(Equal(Record{}))
	g.Expect(RecordOf(&v1alpha1.VersionRemoval{Status: v1alpha1.VersionRemovalStatus{StoredAt: lefts}}).MayLeave(asked)).To(BeTrue(), "somebody has taken the conditions away")
	g.Expect(as(v1alpha1.ReasonNothingStored, same)).To(Equal(Record{Before: v1alpha1.ReasonNothingStored, StoredAt: &v1alpha1.StoredAtStatus{}}))
	g.Expect(as(v1alpha1.ReasonSafeToRemove, func(s *v1alpha1.VersionRemovalStatus) {
		s.Proof = &v1alpha1.ProofStatus{UID: "u", Generation: 3, StorageVersion: "v1"}
	}).StoredAt).To(Equal(&v1alpha1.StoredAtStatus{UID: "u", Generation: 3, Versions: []string{"v1"}, Complete: true}))
	for reason, leaves := range map[string]bool{v1alpha1.ReasonObjectsFailed: true, v1alpha1.ReasonDeletionUnproved: true, v1alpha1.ReasonMigrating: true, v1alpha1.ReasonNothingStored: false} {
		g.Expect(as(reason, same).MayLeave(asked)).To(Equal(leaves), reason)
	}
	g.Expect(as(v1alpha1.ReasonPaused, func(s *v1alpha1.VersionRemovalStatus) { s.StoredAt = lefts }).MayLeave(asked)).To(BeTrue())
}

// Anybody who may write the status of a CRD may write any name into storedVersions. The status of a VersionRemoval holds none that is too long.
func TestWhatIsOnRecordFitsIntoAStatus(t *testing.T) {
	s := with(at(v1alpha1.ReasonMigrating, "rewriting"), func(s *Situation) { s.CRD.StoredVersions = []string{strings.Repeat("x", 64), "v1"} })
	NewWithT(t).Expect(Judge(s).StoredAt.Versions).To(Equal([]string{"v1", "v1alpha1"}))
}

// What one that is new learns of others may be about other versions, and about several CRDs of one name, one after the other.
func TestWhatIsLearntOfOthers(t *testing.T) {
	at := func(uid string, versions ...string) Record {
		return Record{Before: v1alpha1.ReasonNothingStored, StoredAt: &v1alpha1.StoredAtStatus{UID: uid, Generation: 2, Versions: versions}}
	}
	never, unknown := at(""), Record{Before: v1alpha1.ReasonMigrating}
	for name, c := range map[string]struct {
		others        []Record
		leaves, frees []string // versions
	}{
		"of none":                       {nil, nil, []string{"v1alpha1", "v1"}},
		"of one that has no answer yet": {[]Record{{}}, nil, []string{"v1"}},
		"of a CRD that never was":       {[]Record{never, never}, nil, []string{"v1"}},
		"of a proof":                    {[]Record{never, at("a", "v1")}, []string{"v1"}, []string{"v1alpha1"}},
		"of one that the proof shuts":   {[]Record{{Before: v1alpha1.ReasonDeletionUnproved, StoredAt: at("a", "v1").StoredAt}, at("a", "v1")}, []string{"v1"}, []string{"v1alpha1"}},
		"of one that knows nothing":     {[]Record{at("a", "v1"), unknown}, []string{"v1alpha1", "v1", "v2"}, nil},
		"of two CRDs":                   {[]Record{at("a", "v1"), at("b", "v2")}, []string{"v1", "v2"}, []string{"v1alpha1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g, learnt := NewWithT(t), Learn(c.others, true)
			for _, v := range c.leaves {
				g.Expect(learnt.MayLeave([]string{v})).To(BeTrue(), v)
			}
			for _, v := range c.frees {
				g.Expect(learnt.MayLeave([]string{v})).To(BeFalse(), v)
			}
		})
	}
	NewWithT(t).Expect(Learn([]Record{unknown}, false)).To(Equal(Record{}), "while it is there, it is looked at")
}
