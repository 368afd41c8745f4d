package rewrite

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestGarbageInManagedFieldsFailsThatObjectOnly(t *testing.T) {
	const old = "example.com/v1alpha1"
	for name, entries := range map[string][]metav1.ManagedFieldsEntry{
		"in an entry that has to move": {entry("tool", apply, old, "garbage")},
		"in an entry that stays, beside one that loses a field": {
			entry("tool", apply, old, ownsBoth), entry("other", apply, "other.example.com/v1", "garbage")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := shelfOf(20, entry("tool", apply, old, ownsSize))
			s.objects["o00003"].managed = entries
			_, result, err := walkOver(s, repairing)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(map[Outcome]int64{Repaired: 19, Failed: 1}))
			g.Expect(result.FailedObjects).To(HaveLen(1))
			g.Expect(result.FailedObjects[0].String()).To(HavePrefix("ns/o00003: Rejected: managedFields"))
			g.Expect(s.tries["o00003"]).To(BeZero(), "a write would wipe what cannot be read")
		})
	}
}

// shelfOf has n stale objects that all have the same managedFields.
func shelfOf(n int, entries ...metav1.ManagedFieldsEntry) *shelf {
	s := newShelf(n)
	for _, o := range s.objects {
		o.managed = deepCopy(entries)
	}
	return s
}

func repairing(w *Walk) { w.Ownership = leaving() }

func TestARepairIsOneGuardedWriteAndNoLargerThanItMustBe(t *testing.T) {
	const old = "example.com/v1alpha1"
	for name, c := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		body    string
	}{
		"where only versions differ, only they are sent": {
			[]metav1.ManagedFieldsEntry{entry("a", apply, "example.com/v1", ownsSize), entry("b", update, old, ownsSize), entry("c", update, old, `{"f:status":{"f:phase":{}}}`, ofStatus)},
			`[{"op":"test","path":"/metadata/resourceVersion","value":"1"},
			  {"op":"replace","path":"/metadata/managedFields/1/apiVersion","value":"example.com/v1"},
			  {"op":"replace","path":"/metadata/managedFields/2/apiVersion","value":"example.com/v1"}]`},
		"where a field goes, the list is sent": {
			[]metav1.ManagedFieldsEntry{entry("a", apply, old, ownsBoth)},
			`[{"op":"test","path":"/metadata/resourceVersion","value":"1"},
			  {"op":"add","path":"/metadata/managedFields","value":[
			    {"manager":"a","operation":"Apply","apiVersion":"example.com/v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:size":{}}}}]}]`},
		"where two entries become one, the list is sent": {
			[]metav1.ManagedFieldsEntry{entry("a", update, old, ownsSize), entry("a", update, "example.com/v1", ownsSize)},
			`[{"op":"test","path":"/metadata/resourceVersion","value":"1"},
			  {"op":"add","path":"/metadata/managedFields","value":[
			    {"manager":"a","operation":"Update","apiVersion":"example.com/v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:size":{}}}}]}]`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := shelfOf(1, c.entries...)
			_, result, err := walkOver(s, repairing)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(map[Outcome]int64{Repaired: 1}))
			g.Expect(s.stale()).To(BeZero(), "a repair is a rewrite too")
			g.Expect(s.bodies).To(HaveLen(1))
			g.Expect(s.bodies[0]).To(MatchJSON(c.body))
		})
	}
}

func TestASurveyWritesOnlyToObjectsThatNameAVersionThatGoes(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(30, entry("tool", apply, "example.com/v1", ownsSize))
	s.objects["o00003"].managed = []metav1.ManagedFieldsEntry{entry("tool", apply, "example.com/v1alpha1", ownsSize)}
	s.objects["o00007"].managed = nil
	_, result, err := walkOver(s, func(w *Walk) { w.Ownership, w.Mode = leaving(), Survey })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Repaired: 1, Current: 29}))
	g.Expect(s.tries).To(Equal(map[string]int{"o00003": 1}))
	g.Expect(s.objects["o00003"].managed).To(ConsistOf(HaveField("APIVersion", "example.com/v1")))
}

// A check skips objects that were written after the window; one whose entries
// name a version that goes is repaired all the same.
func TestACheckRepairsWhatItNeedNotCheck(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(10, entry("tool", apply, "example.com/v1", ownsSize))
	s.objects["o00009"].managed = []metav1.ManagedFieldsEntry{entry("tool", apply, "example.com/v1alpha1", ownsSize)}
	_, result, err := walkOver(s, func(w *Walk) { w.Ownership, w.Mode, w.ProvedAfter = leaving(), Check, "6" })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 6, Current: 3, Repaired: 1}))
}

// A repair stores an object whether it was stale or not. That a check has found a
// stale one, which opens a new window, must not be hidden by it.
func TestACheckReportsWhichOfTheObjectsItRepairsWereStale(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(10, entry("tool", apply, "example.com/v1alpha1", ownsSize))
	for _, name := range []string{"o00000", "o00001", "o00002", "o00003"} {
		s.objects[name].stale = false
	}
	s.meanwhile = func(s *shelf, name string, try int) {
		if name == "o00002" && try == 1 {
			s.touch(name) // a late one through a server that lags behind
			s.objects[name].stale = true
		}
		if name == "o00005" && try == 1 {
			s.touch(name) // somebody else repairs it first
			s.objects[name].managed = []metav1.ManagedFieldsEntry{entry("tool", apply, "example.com/v1", ownsSize)}
		}
	}
	_, result, err := walkOver(s, func(w *Walk) { w.Ownership, w.Mode = leaving(), Check })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 7, Repaired: 3}))
	for name, o := range s.objects {
		g.Expect(o.managed).To(ConsistOf(HaveField("APIVersion", "example.com/v1")), name)
	}
}

// A plain write would make the API server clear them.
func TestACheckDoesNotLookAtAnObjectWhoseEntriesNameAVersionThatHasGone(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(10, entry("tool", apply, "example.com/v1alpha1", ownsSize))
	_, result, err := walkOver(s, func(w *Walk) { w.Ownership, w.Mode, w.Ownership.Versions = leaving(), Check, []string{"v1"} })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Repaired: 10}))
	g.Expect(s.bodies).To(HaveLen(10))
}

// An old client may write between the list and the plain write.
func TestAnEntryThatComesBeforeThePlainWriteIsMovedToo(t *testing.T) {
	g := NewWithT(t)
	s := newShelf(3)
	s.meanwhile = func(s *shelf, name string, try int) {
		if name == "o00001" && try == 0 {
			s.touch(name)
			s.objects[name].managed = []metav1.ManagedFieldsEntry{entry("late", update, "example.com/v1alpha1", ownsSize)}
		}
	}
	_, result, err := walkOver(s, repairing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 2, Repaired: 1}))
	g.Expect(result.Writers).To(ConsistOf(HaveField("Manager.Name", "late")))
	g.Expect(s.objects["o00001"].managed).To(ConsistOf(HaveField("APIVersion", "example.com/v1")))
}

func TestARepairThatLosesARaceIsDoneAnew(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(5, entry("tool", apply, "example.com/v1alpha1", ownsSize))
	s.meanwhile = func(s *shelf, name string, try int) {
		if name == "o00003" && try == 0 {
			s.touch(name)
			s.objects[name].managed = append(s.objects[name].managed, entry("late", update, "example.com/v1alpha1", ownsSize, lately))
		}
	}
	_, result, err := walkOver(s, repairing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Repaired: 5}))
	g.Expect(s.objects["o00003"].managed).To(HaveExactElements(
		And(HaveField("Manager", "tool"), HaveField("APIVersion", "example.com/v1")),
		And(HaveField("Manager", "late"), HaveField("APIVersion", "example.com/v1"))))
}

// A JSON Patch whose test fails and an object that breaks a rule get the same
// answer. Only the former is worth another try.
func TestARepairThatIsRefusedForWhatItIsIsReported(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(5, entry("tool", apply, "example.com/v1alpha1", ownsSize))
	s.fail = func(name string, _ int) error {
		if name == "o00003" {
			return status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.size: wrong")
		}
		return nil
	}
	_, result, err := walkOver(s, repairing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Repaired: 4, Failed: 1}))
	g.Expect(result.FailedObjects[0].String()).To(Equal("ns/o00003: Invalid: spec.size: wrong"))
	g.Expect(s.tries["o00003"]).To(Equal(1))
}

// An object that is written all the time is repaired by a write that depends on
// nothing but the entries that it moves.
func TestARepairOfAnObjectThatIsWrittenAllTheTime(t *testing.T) {
	const old, current = "example.com/v1alpha1", "example.com/v1"
	hot := func(s *shelf, name string, try int) {
		s.touch(name)
		entries := s.objects[name].managed
		for i := range entries {
			if entries[i].Manager == "hot" && entries[i].APIVersion == current {
				at := metav1.NewTime(late.Add(time.Duration(try) * time.Second))
				entries[i].Time = &at
			}
		}
	}
	for name, c := range map[string]struct{ before, after []metav1.ManagedFieldsEntry }{
		"by somebody else": {
			[]metav1.ManagedFieldsEntry{entry("tool", apply, old, ownsSize), entry("other", update, old, ownsSize, ofStatus), entry("hot", update, current, ownsSize)},
			[]metav1.ManagedFieldsEntry{entry("tool", apply, current, ownsSize), entry("other", update, current, ownsSize, ofStatus), entry("hot", update, current, ownsSize)}},
		"by one whose own old entry has to be merged": {
			[]metav1.ManagedFieldsEntry{entry("hot", update, old, `{"f:status":{"f:phase":{}}}`), entry("tool", update, old, ownsBoth), entry("hot", update, current, ownsSize)},
			[]metav1.ManagedFieldsEntry{entry("hot", update, current, `{"f:spec":{"f:size":{}},"f:status":{"f:phase":{}}}`), entry("tool", update, current, ownsSize)}},
		"of which one entry owns nothing any more": {
			[]metav1.ManagedFieldsEntry{entry("tool", apply, old, ownsColor), entry("hot", update, current, ownsSize)},
			[]metav1.ManagedFieldsEntry{entry("hot", update, current, ownsSize)}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := shelfOf(1, c.before...)
			s.meanwhile = hot
			_, result, err := walkOver(s, repairing)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(map[Outcome]int64{Repaired: 1}), "%v", result.FailedObjects)
			g.Expect(s.tries["o00000"]).To(Equal(maxRaces+2), "each write names what was read, as long as that may get through")
			for _, entries := range [][]metav1.ManagedFieldsEntry{s.objects["o00000"].managed, c.after} {
				for i := range entries {
					entries[i].Time = nil
				}
			}
			g.Expect(asJSON(s.objects["o00000"].managed)).To(MatchJSON(asJSON(c.after)))
		})
	}
}

// The API server keeps one of two entries of a manager. An entry that comes at the moment of the write would have it
// forget what the one that was moved owned.
func TestAnEntryThatComesWhileItsTwinIsMovedLosesNothing(t *testing.T) {
	const old, current = "example.com/v1alpha1", "example.com/v1"
	g := NewWithT(t)
	s := shelfOf(1, entry("tool", update, old, ownsSize))
	s.meanwhile = func(s *shelf, name string, try int) {
		if try < 2 {
			s.touch(name)
		}
		if try == 1 {
			s.objects[name].managed = append(s.objects[name].managed, entry("tool", update, current, `{"f:status":{"f:phase":{}}}`, lately))
		}
	}
	_, result, err := walkOver(s, repairing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Repaired: 1}))
	g.Expect(asJSON(s.objects["o00000"].managed)).To(MatchJSON(asJSON([]metav1.ManagedFieldsEntry{
		entry("tool", update, current, `{"f:spec":{"f:size":{}},"f:status":{"f:phase":{}}}`, lately)})))
}

func TestARepairThatLosesEveryRaceFailsAndIsReported(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(1, entry("tool", apply, "example.com/v1alpha1", ownsSize))
	s.meanwhile = func(s *shelf, name string, try int) {
		s.touch(name)
		s.objects[name].managed = []metav1.ManagedFieldsEntry{entry("tool", apply, "example.com/v1alpha1", fmt.Sprintf(`{"f:spec":{"f:part%d":{}}}`, try))}
	}
	_, result, err := walkOver(s, repairing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.FailedBy).To(Equal(map[string]int64{"Conflict": 1}))
	g.Expect(s.tries["o00000"]).To(Equal(2*maxRaces + 1))
}
