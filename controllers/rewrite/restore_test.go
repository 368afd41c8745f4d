package rewrite

import (
	"context"
	"encoding/json"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// swiftClock makes pauses nothing: what is counted here are tries.
type swiftClock struct{ clock.RealClock }

func (swiftClock) After(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- time.Now()
	return c
}

// before are entries of an object of which no version is to be removed. So a plain rewrite leaves them alone, except
// the one that wipes.
func before() []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{
		entry("tool", apply, "example.com/v1alpha1", ownsSize),
		entry("controller", update, "example.com/v1", `{"f:status":{"f:phase":{}}}`, ofStatus, lately),
	}
}

// resting is a walk over a CRD that keeps its versions.
func resting(w *Walk) {
	w.Ownership = leaving()
	w.Ownership.Leaving = nil
}

// asJSON is how entries are compared that have been on their way as JSON.
func asJSON(entries []metav1.ManagedFieldsEntry) []byte {
	raw, _ := json.Marshal(entries)
	return raw
}

func TestEntriesThatAWriteWipedArePutBack(t *testing.T) {
	moved := before()
	moved[0].APIVersion = "example.com/v1"
	unconvertible := func(_ int, entries []metav1.ManagedFieldsEntry) bool {
		for _, e := range entries {
			if e.APIVersion != "example.com/v1" {
				return true
			}
		}
		return false
	}
	for name, c := range map[string]struct {
		wipes     func(try int, entries []metav1.ManagedFieldsEntry) bool
		fail      func(name string, try int) error
		meanwhile func(s *shelf, name string, try int)
		want      []metav1.ManagedFieldsEntry
	}{
		"as they were, when the cause is gone": {
			wipes: func(try int, _ []metav1.ManagedFieldsEntry) bool { return try == 0 }, want: before()},
		"as they were, when the cause is gone a little later": {
			wipes: func(try int, _ []metav1.ManagedFieldsEntry) bool { return try < 3 }, want: before()},
		"as they were, past errors of the server and of the network": {
			wipes: func(try int, _ []metav1.ManagedFieldsEntry) bool { return try == 0 },
			fail: func(_ string, try int) error {
				return map[int]error{1: internal("boom"), 2: syscall.ECONNRESET}[try]
			},
			want: before()},
		"at the storage version, when nothing else can be converted": {
			wipes: unconvertible, want: moved},
		"beside the entry of a client that wrote meanwhile": {
			wipes: func(try int, _ []metav1.ManagedFieldsEntry) bool { return try == 0 },
			meanwhile: func(s *shelf, name string, try int) {
				if try == 1 {
					s.touch(name)
					s.objects[name].managed = []metav1.ManagedFieldsEntry{entry("late", update, "example.com/v1", ownsColor, lately)}
				}
			},
			want: append(before(), entry("late", update, "example.com/v1", ownsColor, lately))},
		"joined with what their own managers wrote meanwhile": {
			wipes: func(try int, _ []metav1.ManagedFieldsEntry) bool { return try == 0 },
			meanwhile: func(s *shelf, name string, try int) {
				if try == 1 {
					s.touch(name)
					s.objects[name].managed = []metav1.ManagedFieldsEntry{
						entry("before-first-apply", update, "example.com/v1", ownsBoth, lately),
						entry("tool", apply, "example.com/v1alpha1", ownsBoth, lately),
					}
				}
			},
			want: []metav1.ManagedFieldsEntry{entry("tool", apply, "example.com/v1alpha1", ownsBoth, lately), before()[1]}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := shelfOf(1, before()...)
			s.wipes, s.fail, s.meanwhile = c.wipes, c.fail, c.meanwhile
			_, result, err := walkOver(s, func(w *Walk) { resting(w); w.Clock = swiftClock{} })
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 1}))
			g.Expect(asJSON(s.objects["o00000"].managed)).To(MatchJSON(asJSON(c.want)))
			g.Expect(s.stale()).To(BeZero())
		})
	}
}

func TestEntriesThatCannotBePutBackFailTheObjectAndNoOther(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(5, before()...)
	s.objects["o00003"].managed = []metav1.ManagedFieldsEntry{entry("doomed", apply, "example.com/v1alpha1", ownsSize)}
	s.wipes = func(_ int, entries []metav1.ManagedFieldsEntry) bool {
		return len(entries) > 0 && entries[0].Manager == "doomed"
	}
	_, result, err := walkOver(s, func(w *Walk) { resting(w); w.Clock = swiftClock{} })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 4, Failed: 1}))
	g.Expect(result.FailedObjects[0].String()).To(HavePrefix("ns/o00003: OwnershipLost: the API server cleared the object's managedFields"))
	g.Expect(s.tries["o00003"]).To(Equal(1 + 2*maxRaces))
}

func TestAnObjectDeletedBeforeItsEntriesAreBackNoLongerExists(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(1, before()...)
	s.wipes = func(int, []metav1.ManagedFieldsEntry) bool { return true }
	s.meanwhile = func(s *shelf, name string, try int) {
		if try == 1 {
			delete(s.objects, name)
		}
	}
	_, result, err := walkOver(s, func(w *Walk) { resting(w); w.Clock = swiftClock{} })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Gone: 1}))
}

// No other process knows the entries any more.
func TestAWalkThatIsStoppedPutsEntriesBackFirst(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(context.Background())
	s := shelfOf(1, before()...)
	s.wipes = func(try int, _ []metav1.ManagedFieldsEntry) bool {
		cancel()
		return try < 2
	}
	w := &Walk{Objects: s, Clock: swiftClock{}}
	resting(w)
	_, _ = w.Run(ctx)
	g.Expect(asJSON(s.objects["o00000"].managed)).To(MatchJSON(asJSON(before())))
}

func TestAnObjectWithoutEntriesIsNotTakenForWiped(t *testing.T) {
	g := NewWithT(t)
	s := newShelf(3)
	_, result, err := walkOver(s, resting)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 3}))
	g.Expect(s.bodies).To(HaveLen(3))
}

// The API server falls back to the entries it has when it cannot read those it
// is given, and says nothing.
func TestARepairWithoutEffectFailsTheObject(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(1, entry("tool", apply, "example.com/v1alpha1", ownsSize))
	s.keeps = true
	_, result, err := walkOver(s, repairing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Failed: 1}))
	g.Expect(result.FailedObjects[0].String()).To(ContainSubstring("OwnershipLost: the API server accepted the object's new managedFields and kept the old ones"))
}

// What an object had when it was listed may be minutes old.
func TestEntriesThatAWriteWipedArePutBackAsTheyWereRightBeforeIt(t *testing.T) {
	for name, now := range map[string][]metav1.ManagedFieldsEntry{
		"another manager applied":         append(before(), entry("late", apply, "example.com/v1alpha1", ownsColor, lately)),
		"a manager applied something new": {entry("tool", apply, "example.com/v1alpha1", ownsBoth, lately), before()[1]},
		"an owner was removed on purpose": before()[1:],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := shelfOf(1, before()...)
			s.meanwhile = func(s *shelf, name string, try int) {
				if try == 0 { // after the list, before the first write, and through an API server that lags
					s.rv++
					s.objects[name].rv, s.objects[name].managed = s.rv, now
				}
			}
			wiped := 0
			s.wipes = func(int, []metav1.ManagedFieldsEntry) bool { wiped++; return wiped == 1 }
			_, result, err := walkOver(s, func(w *Walk) { resting(w); w.Clock = swiftClock{} })
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By[Failed]).To(BeZero())
			g.Expect(wiped).To(BeNumerically(">", 0), "or nothing is shown")
			g.Expect(asJSON(s.objects["o00000"].managed)).To(MatchJSON(asJSON(now)))
		})
	}
}

func TestEntriesThatAWriteWipedArePutBackAlthoughItsAnswerIsLost(t *testing.T) {
	for name, mode := range map[string]Mode{"in a rewrite": Rewrite, "in a check": Check} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := shelfOf(1, before()...)
			s.wipes = func(try int, _ []metav1.ManagedFieldsEntry) bool { return try == 0 }
			_, result, err := walkOver(s, func(w *Walk) {
				resting(w)
				w.Mode, w.Objects, w.Clock = mode, &mute{shelf: s, asked: map[string]bool{}}, swiftClock{}
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 1}))
			g.Expect(asJSON(s.objects["o00000"].managed)).To(MatchJSON(asJSON(before())))
		})
	}
}

// A guard costs a busy object nothing but a few tries.
func TestAnObjectThatIsWrittenAllTheTimeIsRewrittenInTheEnd(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(1, before()...)
	s.meanwhile = func(s *shelf, name string, _ int) { s.rv++; s.objects[name].rv = s.rv }
	_, result, err := walkOver(s, func(w *Walk) { resting(w); w.Clock = swiftClock{} })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 1}))
	g.Expect(s.stale()).To(BeZero())
	g.Expect(s.bodies).To(HaveLen(maxRaces + 2))
}
