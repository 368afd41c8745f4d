// Package throttle decides how many requests may be under way, so that a walk takes
// all that the API server can spare and not more. One Pace is shared by all walks
// of a process; each walk has a Lane on it.
//
// The limit adapts to how long answers take (limit.go), is halved at once when
// the API server refuses or fails, and climbs again after. Slots go to the lane
// that has the fewest, so that small resources are not stuck behind a huge one.
// A request that hangs, in a webhook for example, gives its slot back while it
// does: it costs the API server nothing, and other lanes go on.
package throttle

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// hanging is how long a request takes that no longer counts as work of the
	// API server. Requests above it are far beyond its objective of 1 s.
	hanging = 2 * time.Second
	// mayHang is the share of all requests that may hang in one lane before it
	// gets no more.
	mayHang = 4
)

// DefaultMaxQueued is what a foreground client hardly notices; docs/performance.md
// has what other numbers cost it, and bring.
const DefaultMaxQueued = 2

// Signal is what the end of a request shows about the API server.
type Signal int

const (
	// Nothing: the request was refused for what it was, or given up.
	Nothing Signal = iota
	// Served: the time it took counts.
	Served
	// Overloaded: 429, 5xx or no answer.
	Overloaded
)

// Pace is the limit on requests under way.
type Pace struct {
	clock clock.WithDelayedExecution
	rate  *rate.Limiter // nil for any
	most  int           // under way, hanging ones too

	mu       sync.Mutex
	limit    limit
	underWay int // requests
	hanging  int // of them
	lanes    []*Lane
}

// Options bound a Pace.
type Options struct {
	// MaxInFlight is the most requests under way, and at least 1.
	MaxInFlight int
	// MaxQueued is how many of them may wait inside the API server, on average.
	// Default: DefaultMaxQueued.
	MaxQueued float64
	// MaxRate is the most requests begun in a second; 0 is no bound.
	MaxRate float64
	// Clock is replaced in tests. Default: the real one.
	Clock clock.WithDelayedExecution
}

// New makes a Pace that has begun nothing yet.
func New(o Options) *Pace {
	o.MaxInFlight = max(1, o.MaxInFlight)
	if o.MaxQueued <= 0 {
		o.MaxQueued = DefaultMaxQueued
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	p := &Pace{clock: o.Clock, most: o.MaxInFlight, limit: newLimit(o.MaxInFlight, o.MaxQueued)}
	if o.MaxRate > 0 {
		p.rate = rate.NewLimiter(rate.Limit(o.MaxRate), 1)
	}
	return p
}

// Limit is how many requests may be under way at the moment.
func (p *Pace) Limit() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit.n
}

// Lane is one walk's place on a Pace.
type Lane struct {
	pace     *Pace
	best     best
	underWay int
	hanging  int
	waiting  []chan struct{}
}

// Lane adds a lane. It needs no closing: one without requests takes no part.
func (p *Pace) Lane() *Lane { return &Lane{pace: p} }

// Permit is leave for one request. Done gives it back.
type Permit struct {
	lane    *Lane
	began   time.Time
	timer   clock.Timer
	hanging bool
	ended   bool
}

// Enter waits until a request may start. The error is the context's.
func (l *Lane) Enter(ctx context.Context) (*Permit, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	p := l.pace
	if p.rate != nil {
		if err := p.rate.Wait(ctx); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			l.leave()
			return nil, err
		}
	}
	permit := &Permit{lane: l, began: p.clock.Now()}
	permit.timer = p.clock.AfterFunc(hanging, permit.hangs)
	return permit, nil
}

// wait takes a slot.
func (l *Lane) wait(ctx context.Context) error {
	p := l.pace
	turn := make(chan struct{})
	p.mu.Lock()
	if len(l.waiting) == 0 {
		p.lanes = append(p.lanes, l)
	}
	l.waiting = append(l.waiting, turn)
	p.grant()
	p.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !l.giveUp(turn) {
		l.leave() // the turn came at the same moment
	}
	return ctx.Err()
}

// Done ends the request.
func (p *Permit) Done(s Signal) {
	pace, now := p.lane.pace, p.lane.pace.clock.Now()
	p.timer.Stop()
	pace.mu.Lock()
	defer pace.mu.Unlock()
	p.ended = true
	if p.hanging {
		p.lane.hanging--
		pace.hanging--
	}
	switch s {
	case Served:
		pace.limit.answered(p.began, now, p.lane.best.share(now, now.Sub(p.began)))
	case Overloaded:
		pace.limit.overloaded(p.began, now)
	case Nothing:
	}
	p.lane.leave()
}

// hangs gives the slot to others until the answer comes.
func (p *Permit) hangs() {
	pace := p.lane.pace
	pace.mu.Lock()
	defer pace.mu.Unlock()
	if p.ended {
		return // at this very moment
	}
	p.hanging = true
	p.lane.hanging++
	pace.hanging++
	pace.grant()
}
