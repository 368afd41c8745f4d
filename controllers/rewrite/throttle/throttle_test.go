package throttle

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// server answers a request after wire, and then work for each that it has to do at
// a time, as one with a single core would.
type server struct {
	wire, work time.Duration
	core       chan struct{}
}

func newServer(wire, work time.Duration) *server {
	return &server{wire: wire, work: work, core: make(chan struct{}, 1)}
}

func (s *server) serve() {
	time.Sleep(s.wire)
	s.core <- struct{}{}
	time.Sleep(s.work)
	<-s.core
}

// stage is where lanes are busy until the play is over, in a time of its own.
type stage struct {
	Gomega
	ctx     context.Context
	workers sync.WaitGroup
}

func play(t *testing.T, act func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &stage{Gomega: NewWithT(t), ctx: ctx}
		defer s.workers.Wait()
		defer cancel()
		act(s)
	})
}

// run has workers send requests through a lane, and counts the answers.
func (s *stage) run(lane *Lane, workers int, request func() Signal) *atomic.Int64 {
	answers := &atomic.Int64{}
	for range workers {
		s.workers.Go(func() {
			for {
				permit, err := lane.Enter(s.ctx)
				if err != nil {
					return
				}
				signal := request()
				permit.Done(signal)
				if signal == Served {
					answers.Add(1)
				}
			}
		})
	}
	return answers
}

// perSecond is how many answers a second there are during d.
func perSecond(answers *atomic.Int64, d time.Duration) float64 {
	before := answers.Load()
	time.Sleep(d)
	return float64(answers.Load()-before) / d.Seconds()
}

func TestTheLimitIsWhatTheServerCanTake(t *testing.T) {
	for name, c := range map[string]struct {
		wire, work time.Duration
		atLeast    float64 // answers per second
		from, to   float64 // the limit
	}{
		"a server next door needs no more than a few":      {0, 2 * time.Millisecond, 490, 2, 5},
		"one far away needs as many as are on the wire":    {20 * time.Millisecond, 2 * time.Millisecond, 480, 12, 16},
		"one that is far and quick is kept to the maximum": {200 * time.Millisecond, time.Millisecond, 155, 32, 32},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(g *stage) {
				p, s := New(Options{MaxInFlight: 32}), newServer(c.wire, c.work)
				answers := g.run(p.Lane(), 32, func() Signal { s.serve(); return Served })
				time.Sleep(10 * time.Second) // to find the limit
				g.Expect(perSecond(answers, 20*time.Second)).To(BeNumerically(">=", c.atLeast), "answers per second")
				g.Expect(p.Limit()).To(And(BeNumerically(">=", c.from), BeNumerically("<=", c.to)), "the limit")
			})
		})
	}
}

func TestTheLimitFallsAndClimbsAgain(t *testing.T) {
	for name, trouble := range map[string]func(s *server) Signal{
		"when the server refuses":     func(*server) Signal { time.Sleep(time.Millisecond); return Overloaded },
		"when others keep it busy":    func(s *server) Signal { time.Sleep(100 * time.Millisecond); s.serve(); return Served },
		"when it answers only errors": func(s *server) Signal { s.serve(); return Overloaded },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(g *stage) {
				p, s := New(Options{MaxInFlight: 32}), newServer(20*time.Millisecond, 2*time.Millisecond)
				well := func(s *server) Signal { s.serve(); return Served }
				doing := atomic.Pointer[func(*server) Signal]{}
				doing.Store(&well)
				g.run(p.Lane(), 32, func() Signal { return (*doing.Load())(s) })
				time.Sleep(5 * time.Second)
				usual := p.Limit()
				doing.Store(&trouble)
				time.Sleep(500 * time.Millisecond)
				g.Expect(p.Limit()).To(BeNumerically("<=", usual/2), "half a second later, at most half of %.1f", usual)
				doing.Store(&well)
				time.Sleep(2 * time.Second)
				g.Expect(p.Limit()).To(BeNumerically("~", usual, 2), "two seconds after, as before")
			})
		})
	}
}

func TestOneRefusalHalvesTheLimitOnce(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	l := limit{n: 16, max: 32}
	for range 16 {
		l.overloaded(now, now.Add(time.Second)) // all sixteen that were under way together
	}
	g.Expect(l.n).To(Equal(8.0))
	l.overloaded(now.Add(2*time.Second), now.Add(3*time.Second))
	g.Expect(l.n).To(Equal(4.0), "one that was sent after is news")
	for i := range 10 {
		l.overloaded(now.Add(time.Duration(4+i)*time.Second), now.Add(time.Duration(5+i)*time.Second))
	}
	g.Expect(l.n).To(Equal(1.0), "there is always one, or nothing would tell that it is over")
}

func TestHoweverFewMayWaitOneGoesOn(t *testing.T) {
	play(t, func(g *stage) {
		p, s := New(Options{MaxInFlight: 32, MaxQueued: 0.1}), newServer(0, 2*time.Millisecond)
		answers := g.run(p.Lane(), 32, func() Signal { s.serve(); time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond); return Served })
		time.Sleep(5 * time.Second)
		g.Expect(perSecond(answers, 20*time.Second)).To(BeNumerically(">=", 70), "answers per second, one after the other")
	})
}

func TestMoreThatWaitKeepAServerBusierWhoseTimesDiffer(t *testing.T) {
	limit := func(queued float64) (found float64) {
		play(t, func(g *stage) {
			p, s := New(Options{MaxInFlight: 64, MaxQueued: queued}), newServer(5*time.Millisecond, 2*time.Millisecond)
			g.run(p.Lane(), 64, func() Signal { s.serve(); return Served })
			time.Sleep(10 * time.Second)
			found = p.Limit()
		})
		return found
	}
	few, many := limit(2), limit(20)
	NewWithT(t).Expect(many-few).To(BeNumerically("~", 18, 3), "%.1f may be under way when 2 may wait, %.1f when 20 may", few, many)
}

func TestLanesShareFairly(t *testing.T) {
	play(t, func(g *stage) {
		p, s := New(Options{MaxInFlight: 16}), newServer(0, 2*time.Millisecond)
		serve := func() Signal { s.serve(); return Served }
		huge := g.run(p.Lane(), 16, serve)
		time.Sleep(5 * time.Second)
		before := huge.Load()
		small := perSecond(g.run(p.Lane(), 16, serve), 10*time.Second)
		g.Expect(small/float64(huge.Load()-before)*10).To(BeNumerically("~", 1, 0.2), "the one that came later gets as much")
	})
}

func TestLanesThatHangDoNotStarveOthers(t *testing.T) {
	play(t, func(g *stage) {
		p, s := New(Options{MaxInFlight: 16}), newServer(0, 2*time.Millisecond)
		for range 2 {
			g.run(p.Lane(), 16, func() Signal { time.Sleep(30 * time.Second); return Nothing })
		}
		time.Sleep(time.Second)
		sound := g.run(p.Lane(), 16, func() Signal { s.serve(); return Served })
		time.Sleep(hanging)
		g.Expect(perSecond(sound, 20*time.Second)).To(BeNumerically(">=", 490), "two lanes hang for 30 s, and the third does not notice")
	})
}

func TestNeverMoreThanTheMaximum(t *testing.T) {
	play(t, func(g *stage) {
		p := New(Options{MaxInFlight: 4})
		now, most := atomic.Int64{}, atomic.Int64{}
		for i := range 6 {
			g.run(p.Lane(), 8, func() Signal {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				time.Sleep(time.Duration(i+1) * time.Second) // most of them hang
				return Served
			})
		}
		time.Sleep(time.Minute)
		g.Expect(most.Load()).To(BeEquivalentTo(4))
	})
}

func TestTheRateIsKept(t *testing.T) {
	play(t, func(g *stage) {
		p := New(Options{MaxInFlight: 16, MaxRate: 50})
		quick := func() Signal { time.Sleep(time.Millisecond); return Served }
		first := g.run(p.Lane(), 16, quick)
		time.Sleep(time.Second)
		second := g.run(p.Lane(), 16, quick)
		time.Sleep(19 * time.Second)
		g.Expect(first.Load()+second.Load()).To(BeNumerically("~", 20*50, 20), "50 a second")
		g.Expect(second.Load()).To(BeNumerically("~", 19*50/2, 50), "shared among the lanes")
	})
}

func TestWhoGivesUpWaitingLosesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		p := New(Options{MaxInFlight: 1})
		lane := p.Lane()
		permit, err := lane.Enter(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 8)
		for range 8 {
			go func() { _, err := lane.Enter(ctx); errs <- err }()
		}
		synctest.Wait()
		cancel()
		for range 8 {
			g.Expect(<-errs).To(MatchError(context.Canceled))
		}
		permit.Done(Served)
		again, err := lane.Enter(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		again.Done(Nothing)
		g.Expect([]int{p.underWay, p.hanging, len(p.lanes), len(lane.waiting)}).To(HaveEach(0))
	})
}

func TestTheBestIsForgottenInTime(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	b := &best{}
	b.share(now, time.Millisecond)
	shares := []float64{}
	for i := range 40 {
		shares = append(shares, b.share(now.Add(time.Duration(i)*time.Second), 10*time.Millisecond))
	}
	g.Expect(shares[:16]).To(HaveEach(0.1))
	g.Expect(slices.Max(shares[:16])).To(BeNumerically("<", slices.Min(shares[32:])))
	g.Expect(shares[32:]).To(HaveEach(1.0))
}
