package rewrite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

const (
	firstPause = 200 * time.Millisecond
	longPause  = 10 * time.Second
	// maxBackoff is how long one request is retried while the API server is busy or away before its object fails, or
	// the walk stops. The next walk finds what this one has done.
	maxBackoff = time.Minute
)

// backoff is how long one request is sent again: pauses that double, with jitter, and
// never shorter than the API server's Retry-After.
type backoff struct {
	clock  clock.Clock
	jitter func(time.Duration) time.Duration
	since  time.Time // of the first error
	tries  int
}

func (w *Walk) newBackoff() *backoff {
	return &backoff{clock: w.Clock, jitter: w.Jitter}
}

// backoffBy makes them for a list that is no walk's.
func backoffBy(c clock.Clock) func() *backoff {
	return func() *backoff { return &backoff{clock: c, jitter: rand.N[time.Duration]} } //nolint:forbidigo // spreads requests
}

// wait waits before the next try of a list after err. It returns the end of the
// walk if err cannot pass by waiting, or has not passed in time.
func (b *backoff) wait(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch c, _ := classify(err); c {
	case busy, conflict, flaky:
	case absent, rejected, unconverted, unreadable, forbidden, noRoute:
		return stopFor(err)
	}
	return b.waitAnyhow(ctx, err)
}

// waitAnyhow waits, whatever err is, unless it has been met for too long.
func (b *backoff) waitAnyhow(ctx context.Context, err error) error {
	if spent, over := b.over(); over {
		return stopFor(fmt.Errorf("no success for %s: %w", spent.Round(time.Second), err))
	}
	return b.pause(ctx, err)
}

// over reports how long the request has met errors, and whether that is too long.
func (b *backoff) over() (spent time.Duration, over bool) {
	if b.since.IsZero() {
		b.since = b.clock.Now()
	}
	spent = b.clock.Since(b.since)
	return spent, spent > maxBackoff
}

// pause waits once.
func (b *backoff) pause(ctx context.Context, err error) error {
	d := min(firstPause<<min(b.tries, 10), longPause)
	d = d/2 + b.jitter(d/2+1)
	if s, ok := apierrors.SuggestsClientDelay(err); ok {
		d = max(d, time.Duration(s)*time.Second+b.jitter(firstPause))
	}
	b.tries++
	select {
	case <-b.clock.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
