// Package story makes an end-to-end test readable in its log: what was said and awaited, each with the seconds since
// the story began, and what was seen meanwhile. Say and Await return times, so that a test can also demand that one
// thing followed another soon enough.
package story

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// Pace is the time between two looks at what is awaited.
const Pace = 50 * time.Millisecond

// Check looks once. What it has seen is logged whenever it changes. An error does not end the waiting: the API server
// may be unable to answer for a moment, after a CRD changed for example.
type Check func(context.Context) (seen string, done bool, err error)

// Story is one test's log.
type Story struct {
	t     testing.TB
	began time.Time
}

// Begin starts the clock.
func Begin(t testing.TB) *Story { return &Story{t: t, began: time.Now()} }

// Say logs a line with the seconds since the beginning, and returns the time it did so.
func (s *Story) Say(format string, args ...any) time.Time {
	now := time.Now()
	fmt.Fprintf(s.t.Output(), "%6.2fs  %s\n", now.Sub(s.began).Seconds(), fmt.Sprintf(format, args...))
	return now
}

// Await looks until check is done and returns when that was. After the given time the test fails with what was seen
// last.
func (s *Story) Await(what string, within time.Duration, check Check) time.Time {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	last := ""
	for {
		seen, done, err := check(ctx)
		if err != nil {
			seen, done = "error: "+err.Error(), false
		}
		switch {
		case done:
			return s.Say("%s: %s", what, seen)
		case ctx.Err() != nil:
			s.t.Fatalf("%6.2fs  not within %s: %s; seen last: %s", time.Since(s.began).Seconds(), within, what, last)
		case seen != last:
			s.Say("    … %s", seen)
			last = seen
		}
		select {
		case <-time.After(Pace):
		case <-ctx.Done():
		}
	}
}

// AwaitWhile is Await for what must not come before its time: meanwhile has to be done at every look until check is.
// The test fails as soon as neither is.
func (s *Story) AwaitWhile(what string, within time.Duration, check, meanwhile Check) time.Time {
	s.t.Helper()
	return s.Await(what, within, func(ctx context.Context) (string, bool, error) {
		s.t.Helper()
		held, holds, holdErr := meanwhile(ctx)
		seen, done, err := check(ctx) // asked second: meanwhile may have ended because of what check looks for
		if holdErr == nil && !holds && err == nil && !done {
			s.t.Fatalf("%6.2fs  not yet %q, and yet: %s; seen: %s", time.Since(s.began).Seconds(), what, held, seen)
		}
		return seen, done, err
	})
}

// Holds looks for the whole time given and fails the test as soon as check is not done: the opposite of Await, for
// what must stay as it is.
func (s *Story) Holds(what string, throughout time.Duration, check Check) {
	s.t.Helper()
	for end := time.Now().Add(throughout); time.Now().Before(end); time.Sleep(Pace) {
		if seen, done, err := check(s.t.Context()); err != nil || !done {
			s.t.Fatalf("%6.2fs  did not hold: %s; seen: %s (error: %v)", time.Since(s.began).Seconds(), what, seen, err)
		}
	}
	s.Say("%s: held for %s", what, throughout)
}
