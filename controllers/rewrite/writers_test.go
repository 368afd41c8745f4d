package rewrite

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestWritersAtVersionsThatGoAreCollected(t *testing.T) {
	const old = "example.com/v1alpha1"
	for name, mode := range map[string]Mode{"in a rewriting walk": Rewrite, "in a check": Check, "in a survey": Survey} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := shelfOf(10, entry("tool", apply, old, ownsSize), entry("tool", update, old, ownsSize),
				entry("controller", update, old, `{"f:status":{"f:phase":{}}}`, ofStatus),
				entry("new-tool", apply, "example.com/v1", ownsSize, lately), entry("stranger", update, "other.example.com/v1alpha1", ownsSize, lately))
			s.objects["o00003"].managed[0] = entry("tool", apply, old, ownsSize, lately)
			s.objects["o00004"].managed = nil
			_, result, err := walkOver(s, func(w *Walk) { w.Ownership, w.Mode = leaving(), mode })
			g.Expect(err).NotTo(HaveOccurred())
			object := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }
			for i := range result.Writers {
				if !result.Writers[i].Last.Equal(late) {
					result.Writers[i].Object = types.NamespacedName{} // any of them: they wrote in the same second
				}
				result.Writers[i].Last = result.Writers[i].Last.UTC()
			}
			g.Expect(result.Writers).To(ConsistOf(
				Writer{Manager: Manager{Name: "tool", Operation: "Apply", Version: "v1alpha1"}, Objects: 9, Last: late, Object: object("o00003")},
				Writer{Manager: Manager{Name: "tool", Operation: "Update", Version: "v1alpha1"}, Objects: 9, Last: early},
				Writer{Manager: Manager{Name: "controller", Operation: "Update", Subresource: "status", Version: "v1alpha1"}, Objects: 9, Last: early},
			))
		})
	}
}

// The entry of a client that writes between the list and the repair is moved as
// well, and with it the only trace of the write.
func TestAWriterThatComesBetweenTheListAndTheRepairIsCollectedToo(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(3, entry("tool", apply, "example.com/v1alpha1", ownsSize))
	s.meanwhile = func(s *shelf, name string, try int) {
		if name == "o00001" && try == 0 {
			s.touch(name)
			s.objects[name].managed = append(s.objects[name].managed, entry("late", update, "example.com/v1alpha1", ownsSize, lately))
		}
	}
	_, result, err := walkOver(s, repairing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Writers).To(ConsistOf(
		And(HaveField("Manager.Name", "tool"), HaveField("Objects", int64(3))),
		And(HaveField("Manager.Name", "late"), HaveField("Objects", int64(1)))))
}

func TestWritersAreNotCollectedWhileNoVersionGoes(t *testing.T) {
	g := NewWithT(t)
	_, result, err := walkOver(shelfOf(10, entry("tool", apply, "example.com/v1alpha1", ownsSize)), resting)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Writers).To(BeEmpty())
}

// What a hundred others did long ago does not hide who wrote just now.
func TestAHundredWritersAreNamedThatWroteLast(t *testing.T) {
	g := NewWithT(t)
	s := newShelf(250)
	n := 0
	for _, o := range s.objects {
		wrote := func(e *metav1.ManagedFieldsEntry) {
			e.Time = &metav1.Time{Time: early.Add(time.Duration(n) * time.Second)}
		}
		o.managed = []metav1.ManagedFieldsEntry{
			entry(fmt.Sprintf("tool-%03d", n), update, "example.com/v1alpha1", ownsSize, wrote),
			entry("everywhere", apply, "example.com/v1alpha1", ownsSize, lately),
		}
		n++
	}
	last := early.Add(249 * time.Second)
	g.Expect(last).To(BeTemporally("<", late))
	_, result, err := walkOver(s, repairing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Repaired: 250}))
	g.Expect(result.Writers).To(HaveLen(maxWriters))
	g.Expect(result.Writers[0]).To(And(HaveField("Manager.Name", "everywhere"), HaveField("Objects", int64(250)), HaveField("Last", BeTemporally("==", late))))
	for i, w := range result.Writers[1:] {
		g.Expect(w.Manager.Name).To(Equal(fmt.Sprintf("tool-%03d", 249-i)))
	}
	g.Expect(result.LastWrites).To(HaveKeyWithValue("v1alpha1", BeTemporally("==", late)))
}

// The time of the latest write does not depend on whether its writer is named.
func TestTheLatestWriteIsKnownHoweverManyWrite(t *testing.T) {
	g := NewWithT(t)
	collector := &collector{}
	collector.begin()
	for i := range 300 {
		collector.wrote(Writer{Manager: Manager{Name: fmt.Sprint(i), Version: "v1alpha1"}, Last: late})
	}
	collector.wrote(Writer{Manager: Manager{Name: "older", Version: "v1beta1"}, Last: early})
	g.Expect(collector.snapshot().LastWrites).To(Equal(map[string]time.Time{"v1alpha1": late, "v1beta1": early}))
	g.Expect(collector.snapshot().Writers).To(HaveLen(maxWriters))
}

func TestWhenAnEntryCountsAsWritten(t *testing.T) {
	now := late.Add(time.Hour)
	at := func(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }
	for name, c := range map[string]struct {
		time   *metav1.Time
		before LookedThrough
		want   time.Time
	}{
		"when it says":                              {at(late), LookedThrough{}, late},
		"now, if it does not say":                   {nil, LookedThrough{}, now},
		"now, if it says a time that has yet to be": {at(now.Add(time.Hour)), LookedThrough{}, now},
		"when it says, if it was not there before":  {at(late), LookedThrough{early, early}, late},
		"when it says, if it may have been left":    {at(early), LookedThrough{late, early.Add(-1)}, early},
		"later than the walk that left none, even by an API server's clock that is behind": {at(early), LookedThrough{late, late}, late},
		"later than the walk that would have moved it":                                     {at(early), LookedThrough{late, early}, late},
		"later than that walk for its own version only":                                    {at(early), LookedThrough{}, early},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Walk{Clock: clocktesting.NewFakeClock(now), LookedThrough: map[string]LookedThrough{"v1alpha1": c.before, "v1beta1": {now, now}}}
			NewWithT(t).Expect(w.writtenAt(metav1.ManagedFieldsEntry{Time: c.time}, "v1alpha1")).To(Equal(c.want))
		})
	}
}

func TestAnEntryStaysAsLongAsItsWriteCounts(t *testing.T) {
	o := Ownership{Group: "example.com", StorageVersion: "v1", Versions: []string{"v1alpha1", "v1"}, Leaving: []string{"v1alpha1"}, Late: map[string]Span{"v1alpha1": Around(late, time.Hour)}}
	at := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: late.Add(after)} }
	for name, c := range map[string]struct {
		time    *metav1.Time
		version string
		moves   bool
	}{
		"a late write's":                    {at(-time.Hour + 1), "v1alpha1", false},
		"one from when it has been quiet":   {at(-time.Hour), "v1alpha1", true},
		"one by a clock that is ahead":      {at(time.Hour - 1), "v1alpha1", false},
		"one that would stay for ever":      {at(time.Hour), "v1alpha1", true},
		"one without a time":                {nil, "v1alpha1", true},
		"one at a version that has left":    {at(0), "v1alpha0", true},
		"one at a version that does not go": {at(0), "v1", false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(o.affects(metav1.ManagedFieldsEntry{APIVersion: "example.com/" + c.version, Time: c.time})).To(Equal(c.moves))
		})
	}
}

// What is moved is late, too, and does not stay: the manager's other entry takes it in.
func TestALateEntryThatIsMovedIsMerged(t *testing.T) {
	g := NewWithT(t)
	span := Around(late, time.Hour)
	o := Ownership{
		Group: "example.com", StorageVersion: "v1", Versions: []string{"v1beta1", "v1"}, Leaving: []string{"v1beta1"},
		Late: map[string]Span{"v1alpha1": span, "v1beta1": span, "v1": span},
	}
	entry := func(version, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "w", Operation: "Update", APIVersion: "example.com/" + version, Time: &metav1.Time{Time: late}, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	color, size, stays := entry("v1", `{"f:spec":{"f:color":{}}}`), entry("v1alpha1", `{"f:spec":{"f:size":{}}}`), entry("v1beta1", `{"f:spec":{"f:form":{}}}`)
	moved, err := o.Move([]metav1.ManagedFieldsEntry{color, size, stays})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(moved).To(Equal([]metav1.ManagedFieldsEntry{entry("v1", `{"f:spec":{"f:color":{},"f:size":{}}}`), stays}))
}
