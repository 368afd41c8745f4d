package repairs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/moult-dev/moult/controllers/rewrite"
)

var (
	kind = Kind{One: "thing", Many: "things", Reasons: []InWords{
		{Reason: Forbidden, What: "may not be written"}, {Reason: Refused, What: "were refused", Fix: "fix the object"},
	}}
	inSteps = Kind{One: "thing", Many: "things", InSteps: true}
)

func item(crd, name string) Item {
	return Item{CRD: crd, Object: Object{Resource: "configmaps", Namespace: "ns", Name: name}}
}

func TestWhatAnItemNamesIsCut(t *testing.T) {
	g, w := NewWithT(t), &Work{Most: 1}
	long := strings.Repeat("x", 1<<20)
	report, err := w.Run(t.Context(), &kind, []string{"a"}, func(context.Context) error {
		i := item("a", "one")
		i.Owner, i.UID, i.From, i.Copy = long, types.UID(long), long, long
		w.Moved(i)
		w.Refuse(errors.New(long), "patch", schema.GroupVersionResource{}, i)
		w.CannotLook("widgets", long)
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	raw, err := json.Marshal(report)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(raw)).To(BeNumerically("<", 5000))
}

// A tenant may change its CRD all the time.
func TestASettleTimeIsWaitedForTwiceAtMost(t *testing.T) {
	for name, c := range map[string]struct {
		settled int // in which look
		looks   int
		waits   []time.Duration
	}{
		"nothing has changed lately": {settled: 1, looks: 1},
		"a CRD is new":               {settled: 2, looks: 2, waits: []time.Duration{time.Hour}},
		"it changes all the time":    {settled: 100, looks: 3, waits: []time.Duration{time.Hour, time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			g, clk, looks, waits := NewWithT(t), testingclock.NewFakeClock(time.Now()), 0, []time.Duration(nil)
			w := &Work{Clock: clk, Waits: func(s *rewrite.Settling) {
				waits = append(waits, s.For)
				go func() {
					for !clk.HasWaiters() {
						runtime.Gosched()
					}
					clk.Step(s.For)
				}()
			}}
			_, err := w.Run(t.Context(), &kind, nil, func(context.Context) error {
				if looks++; looks < c.settled {
					g.Expect(w.Settles(&rewrite.Settling{CRD: "a", For: time.Minute})).To(BeTrue())
					g.Expect(w.Settles(fmt.Errorf("of b: %w", &rewrite.Settling{CRD: "b", For: time.Hour}))).To(BeTrue())
				}
				g.Expect(w.Settles(errors.New("another"))).To(BeFalse())
				return nil
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(looks).To(Equal(c.looks))
			g.Expect(waits).To(Equal(c.waits))
		})
	}
}

func TestHowOftenEverythingIsLookedAt(t *testing.T) {
	type look = func(w *Work, n int)
	for name, c := range map[string]struct {
		kind       Kind
		dryRun     bool
		look       look
		looks      int
		unfinished bool
	}{
		"once if there is nothing to do": {kind: kind, look: func(*Work, int) {}, looks: 1},
		"until there is nothing left":    {kind: kind, look: func(w *Work, n int) { does(w, n < 3, n) }, looks: 3},
		"ten times at most":              {kind: kind, look: func(w *Work, n int) { does(w, true, n) }, looks: 10, unfinished: true},
		"as often as something is moved, in steps, and ten times": {kind: inSteps, look: func(w *Work, n int) {
			if n <= 4 {
				w.Moved(item("a", fmt.Sprint(n)))
			}
			w.Again()
		}, looks: 14, unfinished: true},
		"once in a dry run": {kind: kind, dryRun: true, look: func(w *Work, n int) { does(w, true, n) }, looks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g, w, n := NewWithT(t), &Work{DryRun: c.dryRun}, 0
			report, err := w.Run(t.Context(), &c.kind, []string{"a"}, func(context.Context) error {
				n++
				c.look(w, n)
				return nil
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(report.Looks).To(Equal(c.looks))
			g.Expect(report.Unfinished).To(Equal(c.unfinished))
			g.Expect(report.Each["a"].Unfinished).To(Equal(c.unfinished))
		})
	}
}

func does(w *Work, something bool, n int) {
	if something {
		w.Did(n)
		w.Moved(item("a", fmt.Sprint(n)))
	}
}

func TestWhatIsCountedForEachCRDAndForAll(t *testing.T) {
	g, w := NewWithT(t), &Work{Most: 2}
	maps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	looks := 0
	report, err := w.Run(t.Context(), &kind, []string{"a", "b", "c"}, func(context.Context) error {
		if looks++; looks == 1 {
			w.Leave(Refused, "", item("a", "of the first look"))
			w.Again()
			return nil
		}
		for i := range 3 {
			w.Moved(Item{CRD: "a", Object: Object{Name: fmt.Sprint(3 - i)}, Writers: []string{"one", "two"}[:1+i%2]})
		}
		w.Refuse(errors.New("no"), "patch", maps, item("a", "z"))
		w.Refuse(errors.New("no"), "patch", maps, item("b", "y"))
		w.Refuse(apierrors.NewForbidden(maps.GroupResource(), "x", errors.New(`User "u" cannot patch resource "configmaps" in API group "" in the namespace "ns"`)), "patch", maps, item("b", "x"))
		w.CannotLook("pods", "why")
		w.CannotLook("pods", "why")
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Moved).To(BeEquivalentTo(3))
	g.Expect(report.Items).To(HaveExactElements(HaveField("Object.Name", "2"), HaveField("Object.Name", "3")), "as Most says, in order")
	g.Expect(report.Writers).To(Equal([]Writer{{"one", 3}, {"two", 1}}))
	g.Expect(report.Left).To(HaveExactElements(
		And(HaveField("Reason", Forbidden), HaveField("Count", BeEquivalentTo(1)), HaveField("Needs", []string{"patch on configmaps"})),
		And(HaveField("Reason", Refused), HaveField("Count", BeEquivalentTo(2)), HaveField("Items", HaveExactElements(HaveField("Object.Name", "y"), HaveField("Object.Name", "z")))),
	), "of the last look")
	g.Expect(report.NotLooked).To(Equal([]NotLooked{{"pods", "why"}}))
	g.Expect(report.Each["a"].Left).To(HaveExactElements(And(HaveField("Reason", Refused), HaveField("Count", BeEquivalentTo(1)))))
	g.Expect(report.Each["c"]).To(And(HaveField("Moved", BeZero()), HaveField("NotLooked", HaveLen(1))))
}

func TestTheVerdictIsNeverBetterThanWhatWasSeen(t *testing.T) {
	left, unseen := []Group{{Reason: Refused, Count: 2}}, []NotLooked{{"pods", "why"}}
	for name, c := range map[string]struct {
		report Report
		want   Verdict
	}{
		"nothing":             {Report{}, Done},
		"all were moved":      {Report{Moved: 3}, Done},
		"some are left":       {Report{Moved: 3, Left: left, NotLooked: unseen}, Remaining},
		"new ones still come": {Report{Unfinished: true}, Remaining},
		"not all was seen":    {Report{Moved: 3, NotLooked: unseen}, NotKnown},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(c.report.Verdict()).To(Equal(c.want)) })
	}
}

func TestAGroupInWords(t *testing.T) {
	g := NewWithT(t)
	refused := &Group{Reason: Refused, Count: 3, Items: []Item{item("a", "x"), item("a", "y")}}
	refused.Items[0].Why = "set in stone"
	g.Expect(kind.Clause(refused, 1)).To(Equal("3 were refused (fix the object): configmaps ns/x and 2 more (set in stone)"))
	forbidden := &Group{Reason: Forbidden, Count: 1, Needs: []string{"patch on configmaps"}, Items: []Item{item("a", "x")}}
	g.Expect(kind.Clause(forbidden, 1)).To(Equal("1 may not be written (grant patch on configmaps): configmaps ns/x"))
	g.Expect(kind.Count(1)).To(Equal("1 thing"))
	g.Expect(kind.Unknown(&Report{}, nil, 3)).To(BeEmpty())
	g.Expect(kind.Unknown(&Report{Unfinished: true, Looks: 10}, nil, 3)).To(Equal("not known whether things are left: each of 10 looks has found new ones"))
	g.Expect(kind.Unknown(&Report{NotLooked: []NotLooked{{"pods", "a"}, {"nodes", "b"}}}, nil, 1)).To(Equal("not known whether things are left: a; and 1 more"))
	g.Expect(kind.Unknown(&Report{}, errors.New("no answer"), 3)).To(HaveSuffix(": no answer"))
}

// How many references there are to be moved is up to tenants.
func TestOfVeryMuchThatIsDoneNotAllIsRemembered(t *testing.T) {
	g, w := NewWithT(t), &Work{}
	_, err := w.Run(t.Context(), &kind, []string{"a"}, func(context.Context) error {
		for i := range 3 * maxRemembered {
			w.Did([2]string{"a reference", fmt.Sprint(i)})
		}
		g.Expect(len(w.times)).To(BeNumerically("<=", maxRemembered))
		last := [2]string{"a reference", fmt.Sprint(3*maxRemembered - 1)}
		g.Expect(w.Times(last)).To(Equal(1))
		g.Expect(w.Did(last)).To(Equal(2))
		g.Expect(w.Times([2]string{"another"})).To(BeZero())
		type other [2]string
		g.Expect(w.Times(other(last))).To(BeZero(), "one of another type is another")
		w.Again()
		g.Expect(w.Times(nil)).To(Equal(1))
		w.now = 0
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
}
