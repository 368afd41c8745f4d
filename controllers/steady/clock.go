// Package steady is a clock that is not put ahead when somebody sets the machine's.
//
// Moments of one process are compared by its monotonic clock, whatever the machine's clock shows. But a quiet period is
// counted from a time in managedFields, which comes from another clock. If the machine's is put ahead by an hour, that
// hour would count as one without a write.
package steady

import (
	"time"

	"k8s.io/utils/clock"
)

// Clock shows the earlier of two times: that of the machine's clock, and the one that it would show if it had not been set since
// the process began. So what waits may wait longer when the machine's clock is set, and never shorter.
type Clock struct {
	clock.WithTicker
	began time.Time
}

// Of is such a clock on top of another one.
func Of(c clock.WithTicker) *Clock {
	if already, is := c.(*Clock); is {
		return already
	}
	return &Clock{WithTicker: c, began: c.Now()}
}

// Now is the moment it shows.
func (c *Clock) Now() time.Time {
	now := c.WithTicker.Now()
	unset := c.began.Add(now.Sub(c.began)) // by the monotonic clock
	if now.Round(0).After(unset.Round(0)) {
		return unset
	}
	return now
}

// Since is how long ago a moment was.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
