package rewrite

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

const (
	firstPause = 200 * time.Millisecond
	longPause  = 10 * time.Second
	// maxPatience is how long one request is retried while the API server is
	// busy or away before its object fails, or the walk stops; the next walk finds
	// what this one has done.
	maxPatience = time.Minute
)

// patience is the back-off of one request: pauses that double, with jitter, and
// never shorter than the API server's Retry-After.
type patience struct {
	clock  clock.Clock
	jitter func(time.Duration) time.Duration
	since  time.Time // of the first error
	tries  int
}

func (w *Walk) newPatience() *patience {
	return &patience{clock: w.Clock, jitter: w.Jitter}
}

// sit waits before the next try of a list after err. It returns the end of the
// walk if err cannot pass by waiting, or has not passed in time.
func (p *patience) sit(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch c, _ := classify(err); c {
	case busy, conflict, flaky:
	case absent, rejected, unconverted, forbidden, noRoute:
		return stopFor(err)
	}
	return p.again(ctx, err)
}

// again waits, whatever err is, unless it has been met for too long.
func (p *patience) again(ctx context.Context, err error) error {
	if spent, over := p.over(); over {
		return stopFor(fmt.Errorf("no success for %s: %w", spent.Round(time.Second), err))
	}
	return p.pause(ctx, err)
}

// over tells how long the request has met errors, and whether that is too long.
func (p *patience) over() (spent time.Duration, over bool) {
	if p.since.IsZero() {
		p.since = p.clock.Now()
	}
	spent = p.clock.Since(p.since)
	return spent, spent > maxPatience
}

// pause waits once.
func (p *patience) pause(ctx context.Context, err error) error {
	d := min(firstPause<<min(p.tries, 10), longPause)
	d = d/2 + p.jitter(d/2+1)
	if s, ok := apierrors.SuggestsClientDelay(err); ok {
		d = max(d, time.Duration(s)*time.Second+p.jitter(firstPause))
	}
	p.tries++
	select {
	case <-p.clock.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
