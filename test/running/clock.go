package running

import (
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Clock is the real clock, which a test can put ahead. Timers run as they do in reality: who waits for a moment that has been
// passed in this way has to be woken.
type Clock struct {
	clock.RealClock
	ahead atomic.Int64
}

// Now is the moment it shows.
func (c *Clock) Now() time.Time { return c.RealClock.Now().Add(time.Duration(c.ahead.Load())) }

// Since is how long ago a moment was.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Leap puts it ahead.
func (c *Clock) Leap(d time.Duration) { c.ahead.Add(int64(d)) }
