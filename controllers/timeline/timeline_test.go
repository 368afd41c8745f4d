package timeline

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
)

// answers is a timeline whose API server answers with these resourceVersions, one after the other, with a second in between.
func answers(resourceVersions ...string) *Timeline {
	c := clocktesting.NewFakeClock(time.Unix(0, 0))
	return &Timeline{clock: c, ask: func(context.Context) (string, error) {
		c.Step(time.Second)
		next := resourceVersions[0]
		resourceVersions = resourceVersions[1:]
		if next == "" {
			return "", errAway
		}
		return next, nil
	}}
}

var errAway = errors.New("connection refused")

func TestARestoreShowsByTheResourceVersionOfAList(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		want    []error
	}{
		"time goes on":          {[]string{"100", "100", "250"}, []error{nil, nil, nil}},
		"an older state":        {[]string{"100", "99"}, []error{nil, ErrRestored}},
		"more digits are later": {[]string{"99", "100"}, []error{nil, nil}},

		"an older state, after the server was away":   {[]string{"100", "", "99"}, []error{nil, errAway, ErrRestored}},
		"what was before stays gone":                  {[]string{"100", "99"}, []error{nil, ErrRestored, ErrRestored}},
		"the revisions were raised":                   {[]string{"100", "1000000090"}, []error{nil, ErrRestored}},
		"they were raised by a million":               {[]string{"100", "1000100"}, []error{nil, ErrRestored}},
		"a busy cluster, and a server that was away":  {[]string{"100", "300100"}, []error{nil, nil}},
		"what is seen first is later than nothing":    {[]string{"1000000000"}, []error{nil}},
		"a server that counts in another way is none": {[]string{"100", "abc"}, []error{nil, strconv.ErrSyntax}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			timeline := answers(c.answers...)
			for _, want := range c.want {
				if err := timeline.Check(t.Context()); want != nil {
					g.Expect(err).To(MatchError(want))
				} else {
					g.Expect(err).NotTo(HaveOccurred())
				}
			}
		})
	}
}

// Two requests are under way at once, and the answers come in the other order.
func TestAnswersThatOvertakeOneAnotherAreNoRestore(t *testing.T) {
	g := NewWithT(t)
	timeline := answers("101")
	ask := timeline.ask
	timeline.ask = func(ctx context.Context) (string, error) {
		timeline.ask = ask
		g.Expect(timeline.Check(ctx)).To(Succeed())
		return "100", nil
	}
	g.Expect(timeline.Check(t.Context())).To(Succeed())
	g.Expect(timeline.newest).To(Equal(uint64(101)))
}

func TestAnotherSignOfARestoreIsForGood(t *testing.T) {
	g := NewWithT(t)
	timeline := answers("100", "101", "102")
	said := error(nil)
	timeline.others = []func(context.Context) error{func(context.Context) error { return said }}
	g.Expect(timeline.Check(t.Context())).To(Succeed())
	said = ErrRestored
	g.Expect(timeline.Check(t.Context())).To(MatchError(ErrRestored))
	said = nil
	g.Expect(timeline.Check(t.Context())).To(MatchError(ErrRestored))
}

func TestTheManagerEndsByARestore(t *testing.T) {
	g := NewWithT(t)
	timeline := answers("100", "99")
	ticks, _ := timeline.clock.(*clocktesting.FakeClock)
	ended := make(chan error, 1)
	go func() { ended <- timeline.Start(t.Context()) }()
	g.Eventually(ticks.HasWaiters).Should(BeTrue())
	g.Eventually(func() bool { _, at, _ := timeline.last(); return !at.IsZero() }).Should(BeTrue())
	ticks.Step(every)
	g.Eventually(ended, "10s").Should(Receive(MatchError(ErrRestored)))
	g.Expect(timeline.NeedLeaderElection()).To(BeFalse())
}
