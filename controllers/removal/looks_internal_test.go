package removal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/test/builders"
)

// seeing is a cluster that counts how often it is looked through, and what for.
type seeing struct {
	mu    sync.Mutex
	looks [][]survivors.Target
	err   error
	takes func() // time, with the test's clock
}

func (s *seeing) Look(_ context.Context, targets []survivors.Target) (survivors.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks = append(s.looks, targets)
	if s.takes != nil {
		s.takes()
	}
	return survivors.Report{Targets: targets, Verdict: survivors.NoneFound}, s.err
}

func (s *seeing) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.looks)
}

// looking runs the looks of a test, by a clock that stands still.
func looking(t *testing.T, s *seeing) (*looks, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	l := newLooks(s, time.Minute, clock)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { defer close(ended); _ = l.Start(ctx) }()
	go func() {
		for {
			select {
			case <-l.ended:
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return l, clock
}

var widgetsCRD = builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1beta1", "v1").Storage("v1").Build()
var gadgetsCRD = builders.CRD("example.com", "gadgets").Versions("v1alpha1", "v1").Build()

// A rule for v1alpha1 and v1beta1 goes on matching without v1alpha1, until v1beta1 has left the CRD, too.
func TestALookDoesNotHoldForACRDThatHasChanged(t *testing.T) {
	g, s := NewWithT(t), &seeing{}
	l, clock := looking(t, s)
	l.want(named(1), widgetsCRD, []string{"v1alpha1"}, clock.Now(), true)
	g.Eventually(func() any { return l.found(widgetsCRD, []string{"v1alpha1"}) }, "5s").ShouldNot(BeNil())
	crd := func(kind string, versions ...string) any {
		changed := builders.CRD("example.com", "widgets").Versions(versions...).Build()
		changed.Spec.Names.Kind = kind
		return l.found(changed, []string{"v1alpha1"})
	}
	g.Expect(crd("Widget", "v1alpha1", "v1")).To(BeNil(), "a version that was to stay has left")
	g.Expect(crd("Gizmo", "v1alpha1", "v1beta1", "v1")).To(BeNil(), "other objects were looked for")
	g.Expect(crd("Widget", "v1alpha1", "v1beta1", "v1", "v2")).NotTo(BeNil())
	unserved := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1beta1", "v1").Unserved("v1beta1").Build()
	g.Expect(l.found(unserved, []string{"v1alpha1"})).To(BeNil(), "a rule that matches exactly may have gone on matching by v1beta1 alone")

	without := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Build()
	l.want(named(1), without, []string{"v1alpha1"}, clock.Now(), true)
	g.Eventually(clock.HasWaiters, "5s").Should(BeTrue())
	clock.Step(leastRest)
	g.Eventually(s.count, "5s").Should(Equal(2))
	g.Eventually(func() any { return l.found(without, []string{"v1alpha1"}) }, "5s").ShouldNot(BeNil())
}

// A tenant's CRD may list thousands, and thousands of VersionRemovals name it.
func TestACRDOfVeryManyVersionsIsNotLookedFor(t *testing.T) {
	g, s := NewWithT(t), &seeing{}
	l, clock := looking(t, s)
	versions := []string{"v1"}
	for i := range mostVersions {
		versions = append(versions, fmt.Sprintf("v1alpha%d", i))
	}
	many := builders.CRD("example.com", "gizmos").Versions(versions...).Build()
	l.want(named(1), many, []string{"v1alpha1"}, clock.Now(), true)
	l.want(named(2), widgetsCRD, []string{"v1alpha1"}, clock.Now(), true)
	g.Eventually(func() any { return l.found(widgetsCRD, []string{"v1alpha1"}) }, "5s").ShouldNot(BeNil())
	g.Expect(s.looks[0]).To(ConsistOf(HaveField("CRD", "widgets.example.com")))
	g.Expect(l.found(many, []string{"v1alpha1"})).To(HaveField("Failure", "the CRD lists 101 versions, and with more than 100 it is not looked for what names them"))
}

func named(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)}
}

func TestOneLookAnswersAllWhoAsk(t *testing.T) {
	g, s := NewWithT(t), &seeing{}
	l, clock := looking(t, s)
	later := clock.Now().Add(time.Second)
	for i := range 50 {
		l.want(named(i), widgetsCRD, []string{"v1alpha1"}, later, true)
	}
	l.want(named(50), widgetsCRD, []string{"v1beta1"}, later, true)
	g.Eventually(clock.HasWaiters, "5s").Should(BeTrue())
	g.Expect(l.found(widgetsCRD, []string{"v1alpha1"})).To(BeNil(), "nobody has looked")
	clock.Step(time.Second)
	g.Eventually(s.count, "5s").Should(Equal(1))
	g.Expect(s.looks[0]).To(ConsistOf(And(HaveField("CRD", "widgets.example.com"), HaveField("Leaving", ConsistOf("v1alpha1", "v1beta1")), HaveField("Staying", ConsistOf("v1")))))
	g.Eventually(func() any { return l.found(widgetsCRD, []string{"v1alpha1"}) }, "5s").Should(HaveField("At", later))
	g.Expect(l.found(widgetsCRD, []string{"v1"})).To(BeNil(), "that was not looked for")
	g.Expect(l.found(gadgetsCRD, []string{"v1alpha1"})).To(BeNil())

	// It is made again while somebody asks, and no more when no VersionRemoval does.
	g.Eventually(clock.HasWaiters, "5s").Should(BeTrue())
	clock.Step(time.Minute)
	g.Eventually(s.count, "5s").Should(Equal(2))
	for i := range 51 {
		l.withdraw(named(i))
	}
	g.Eventually(clock.HasWaiters, "5s").Should(BeTrue())
	clock.Step(time.Hour)
	l.want(named(51), gadgetsCRD, []string{"v1alpha1"}, clock.Now().Add(time.Second), true)
	g.Eventually(clock.HasWaiters, "5s").Should(BeTrue(), "it waits for who asks now")
	g.Expect(s.count()).To(Equal(2))
}

func TestALookIsMadeAnewForWhoAsksLater(t *testing.T) {
	g, s := NewWithT(t), &seeing{err: errors.New("the API server does not answer")}
	l, clock := looking(t, s)
	l.want(named(1), widgetsCRD, []string{"v1alpha1"}, clock.Now(), true)
	g.Eventually(func() any { return l.found(widgetsCRD, []string{"v1alpha1"}) }, "5s").Should(HaveField("Failure", "the API server does not answer"))
	l.want(named(1), widgetsCRD, []string{"v1alpha1"}, clock.Now().Add(time.Millisecond), true)
	g.Eventually(clock.HasWaiters, "5s").Should(BeTrue())
	g.Expect(s.count()).To(Equal(1), "not before it has rested")
	clock.Step(leastRest)
	g.Eventually(s.count, "5s").Should(Equal(2))
	l.want(named(2), widgetsCRD, []string{"v1beta1"}, clock.Now().Add(-time.Hour), true)
	g.Eventually(clock.HasWaiters, "5s").Should(BeTrue())
	clock.Step(leastRest)
	g.Eventually(s.count, "5s").Should(Equal(3), "the earlier looks were not about that version")
}

func TestTheNextLookWaitsForFiveTimesAsLongAsALookTook(t *testing.T) {
	g, s := NewWithT(t), &seeing{}
	l, clock := looking(t, s)
	s.takes = func() { clock.Step(20 * time.Second) }
	l.want(named(1), widgetsCRD, []string{"v1alpha1"}, clock.Now(), true)
	g.Eventually(clock.HasWaiters, "5s").Should(BeTrue())
	g.Expect(s.count()).To(Equal(1))
	for i := range 9 { // no matter who asks meanwhile, and for what
		l.want(named(i), widgetsCRD, []string{"v1beta1"}, clock.Now(), true)
		clock.Step(11 * time.Second)
		g.Consistently(s.count, "50ms").Should(Equal(1))
	}
	clock.Step(time.Second)
	g.Eventually(s.count, "5s").Should(Equal(2), "after a hundred seconds, once for all of them")
}

// A process that has to end while it looks would else never end.
func TestALookThatIsCutOffIsNotBegunAgain(t *testing.T) {
	g, ended := NewWithT(t), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	l := newLooks(cutOff{stop}, time.Minute, clock)
	l.want(named(0), widgetsCRD, []string{"v1alpha1"}, clock.Now(), true)
	go func() { defer close(ended); _ = l.Start(ctx) }()
	g.Eventually(ended, "5s").Should(BeClosed())
}

// cutOff is a cluster in which a look ends with the process.
type cutOff struct{ stop func() }

func (c cutOff) Look(ctx context.Context, _ []survivors.Target) (survivors.Report, error) {
	c.stop()
	return survivors.Report{}, ctx.Err()
}
