package rewrite

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/moult-dev/moult/controllers/rewrite/fieldownership"
)

// guide follows fields as a test wants it: size is capacity, color is lost.
type guide struct {
	asked atomic.Int64
	fail  func(asked int64) error
}

const ownsCapacity = `{"f:spec":{"f:capacity":{}}}`

func (f *guide) Follow(_ context.Context, _ types.NamespacedName, _, _ string, owned []*fieldpath.Set) ([]fieldownership.Followed, error) {
	asked := f.asked.Add(1)
	if f.fail != nil {
		if err := f.fail(asked); err != nil {
			return nil, err
		}
	}
	followed := make([]fieldownership.Followed, len(owned))
	for i, fields := range owned {
		followed[i] = fieldownership.Followed{Fields: fieldpath.NewSet(), Lost: fieldpath.NewSet()}
		if fields.Has(fieldpath.MakePathOrDie("spec", "size")) {
			followed[i].Fields.Insert(fieldpath.MakePathOrDie("spec", "capacity"))
		}
		if color := fieldpath.MakePathOrDie("spec", "color"); fields.Has(color) {
			followed[i].Lost.Insert(color)
			followed[i].Why = errors.New("it has no counterpart")
		}
	}
	return followed, nil
}

// guided is a walk that moves entries behind a webhook.
func guided(by *guide, mode Mode) func(*Walk) {
	return func(w *Walk) {
		w.Ownership, w.Mode, w.Clock = leaving(), mode, swiftClock{}
		w.Ownership.Has = func(p fieldpath.Path) bool { return p.String() != ".spec.size" && p.String() != ".spec.color" }
		w.Converts, w.Follower = true, func(context.Context) (Follower, error) { return by, nil }
	}
}

func TestEntriesBehindAWebhook(t *testing.T) {
	const old, current = "example.com/v1alpha1", "example.com/v1"
	type entries = []metav1.ManagedFieldsEntry
	painted := Loss{Manager: Manager{Name: "painter", Operation: "Apply", Version: "v1alpha1"}, Waits: true, Objects: 1, Fields: 1, Field: "spec.color",
		Object: types.NamespacedName{Namespace: "ns", Name: "o00000"}, Why: "it has no counterpart"}
	dropped := func(why string) Loss {
		l := painted
		l.Waits, l.Why = false, why
		return l
	}
	for name, c := range map[string]struct {
		change       func(*Walk)
		fail         func(int64) error
		before, want entries
		outcome      map[Mode]Outcome
		losses       []Loss
	}{
		"what is called otherwise is owned by its new name": {
			before: entries{entry("tool", apply, old, ownsSize)}, want: entries{entry("tool", apply, current, ownsCapacity)},
			outcome: map[Mode]Outcome{Rewrite: Rewritten, Check: Rewritten, Survey: Repaired}},
		"an entry that would lose something stays as it is": {
			before: entries{entry("painter", apply, old, ownsColor)}, want: entries{entry("painter", apply, old, ownsColor)},
			outcome: map[Mode]Outcome{Rewrite: Rewritten, Check: Rewritten, Survey: Current}, losses: []Loss{painted}},
		"and the others are moved all the same": {
			before:  entries{entry("painter", apply, old, ownsColor), entry("tool", apply, old, ownsSize)},
			want:    entries{entry("painter", apply, old, ownsColor), entry("tool", apply, current, ownsCapacity)},
			outcome: map[Mode]Outcome{Rewrite: Rewritten, Check: Rewritten, Survey: Repaired}, losses: []Loss{painted}},
		"an entry that stays is not joined with the one that its manager has at the storage version": {
			before:  entries{entry("painter", apply, old, ownsColor), entry("painter", apply, current, ownsCapacity)},
			want:    entries{entry("painter", apply, old, ownsColor), entry("painter", apply, current, ownsCapacity)},
			outcome: map[Mode]Outcome{Rewrite: Rewritten, Check: Rewritten, Survey: Current}, losses: []Loss{painted}},
		"where the CRD allows the loss, it is counted": {
			change:  func(w *Walk) { w.Ownership.MayLose = []string{"v1alpha1"} },
			before:  entries{entry("painter", apply, old, ownsColor), entry("tool", apply, old, ownsSize)},
			want:    entries{entry("tool", apply, current, ownsCapacity)},
			outcome: map[Mode]Outcome{Rewrite: Rewritten, Check: Rewritten, Survey: Repaired}, losses: []Loss{dropped("it has no counterpart")}},
		"a version that has gone cannot wait, and its loss is counted": {
			change:  func(w *Walk) { w.Ownership.Versions, w.Ownership.Leaving = []string{"v1"}, nil },
			before:  entries{entry("painter", apply, old, ownsColor), entry("idle", apply, old, `{"f:metadata":{"f:labels":{"f:a":{}}}}`)},
			want:    entries{entry("idle", apply, current, `{"f:metadata":{"f:labels":{"f:a":{}}}}`)},
			outcome: map[Mode]Outcome{Rewrite: Repaired, Check: Repaired, Survey: Repaired}, losses: []Loss{dropped(errVersionGone.Error())}},
		"an API server that is busy is asked again": {
			fail: func(asked int64) error {
				if asked == 1 {
					return status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down")
				}
				return nil
			},
			before: entries{entry("tool", apply, old, ownsSize)}, want: entries{entry("tool", apply, current, ownsCapacity)},
			outcome: map[Mode]Outcome{Rewrite: Rewritten, Check: Rewritten, Survey: Repaired}},
		"an object that cannot be read keeps its entries": {
			fail:   func(int64) error { return status(http.StatusForbidden, metav1.StatusReasonForbidden, "no") },
			before: entries{entry("painter", apply, old, ownsColor)}, want: entries{entry("painter", apply, old, ownsColor)},
			outcome: map[Mode]Outcome{Rewrite: Rewritten, Check: Rewritten, Survey: Current},
			losses:  []Loss{func() Loss { l := painted; l.Why = "reading the object: no"; return l }()}},
	} {
		for mode, outcome := range c.outcome {
			t.Run(name+map[Mode]string{Rewrite: ", in a rewrite", Check: ", in a check", Survey: ", in a survey"}[mode], func(t *testing.T) {
				g := NewWithT(t)
				s := shelfOf(1, c.before...)
				_, result, err := walkOver(s, func(w *Walk) {
					guided(&guide{fail: c.fail}, mode)(w)
					if c.change != nil {
						c.change(w)
					}
				})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(result.By).To(Equal(map[Outcome]int64{outcome: 1}))
				g.Expect(asJSON(s.objects["o00000"].managed)).To(MatchJSON(asJSON(c.want)))
				g.Expect(result.Losses).To(Equal(c.losses))
			})
		}
	}
}

func TestLossesAreCountedByManager(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(30, entry("painter", apply, "example.com/v1alpha1", ownsColor), entry("tool", apply, "example.com/v1alpha1", ownsBoth))
	_, result, err := walkOver(s, guided(&guide{}, Survey))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Losses).To(ConsistOf(
		And(HaveField("Manager.Name", "painter"), HaveField("Objects", int64(30)), HaveField("Fields", int64(30))),
		And(HaveField("Manager.Name", "tool"), HaveField("Objects", int64(30)), HaveField("Fields", int64(30)))))
	g.Expect(s.bodies).To(BeEmpty(), "nothing is written")
}

// A check distinguishes an object that was stale from one that is changed at every write, whatever its entries wait
// for.
func TestAnEntryThatStaysDoesNotHideWhetherAnObjectWasStale(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(1, entry("painter", apply, "example.com/v1alpha1", ownsColor))
	s.meanwhile = func(s *shelf, name string, _ int) { s.objects[name].stale = true } // as a webhook that stamps the time
	_, result, err := walkOver(s, guided(&guide{}, Check))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Altered: 1}))
}

func TestManagedFieldsShareOneRoom(t *testing.T) {
	g := NewWithT(t)
	walk := &Walk{Room: NewRoom()}
	large := &visitor{Walk: walk, item: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		{FieldsV1: metav1.NewFieldsV1(strings.Repeat(`{"f:a":`, 100_000) + "{}" + strings.Repeat("}", 100_000))},
	}}}}
	done, err := large.Room.ForFields(t.Context(), large.item.ManagedFields)
	g.Expect(err).NotTo(HaveOccurred(), "one alone may take more")
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = walk.Room.ForFields(ended, large.item.ManagedFields)
	g.Expect(err).To(MatchError(context.Canceled))
	done()
	done, err = large.Room.ForFields(t.Context(), large.item.ManagedFields)
	g.Expect(err).NotTo(HaveOccurred())
	done()
}

// What a tenant puts into an object must not end in a status: a path of managedFields, a version that none is, and what a webhook quotes.
func TestWhatAnObjectHoldsIsCut(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("x", 300<<10)
	s := shelfOf(2, entry("painter", apply, "example.com/"+long, `{"f:spec":{"f:`+long+`":{}}}`))
	s.fail = func(name string, _ int) error {
		if name == "o00001" {
			return status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, long)
		}
		return nil
	}
	_, result, err := walkOver(s, func(w *Walk) {
		guided(&guide{}, Rewrite)(w)
		w.Ownership.Has = func(fieldpath.Path) bool { return false }
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Losses).To(HaveLen(1))
	raw, err := json.Marshal(result)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(raw)).To(BeNumerically("<", 6000))
}

// Entries that a write has lost are decoded to be put back. They wait for room like those that are moved.
func TestEntriesThatArePutBackShareTheRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := shelfOf(1, before()...)
		room := NewRoom()
		s.wipes = func(try int, _ []metav1.ManagedFieldsEntry) bool {
			if try == 0 {
				g.Expect(room.fields.TryAcquire(fieldsRoom)).To(BeTrue()) // somebody else decodes
				time.AfterFunc(3*time.Second, func() { room.fields.Release(fieldsRoom) })
			}
			return try == 0
		}
		began := time.Now()
		_, result, err := walkOver(s, func(w *Walk) { resting(w); w.Room = room })
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 1}))
		g.Expect(asJSON(s.objects["o00000"].managed)).To(MatchJSON(asJSON(before())))
		g.Expect(time.Since(began)).To(BeNumerically(">=", 3*time.Second))
	})
}
