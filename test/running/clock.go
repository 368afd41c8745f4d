package running

import (
	"sync/atomic"
	"time"
	"unsafe"

	"k8s.io/utils/clock"
)

// Clock is the real clock, which a test can put ahead. Timers run as they do in reality: who waits for a moment that has been
// passed in this way has to be woken.
type Clock struct {
	clock.RealClock
	ahead, set atomic.Int64
}

// Now is the moment it shows.
func (c *Clock) Now() time.Time {
	return shows(c.RealClock.Now().Add(time.Duration(c.ahead.Load())), time.Duration(c.set.Load()))
}

// Since is how long ago a moment was.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Leap has time pass.
func (c *Clock) Leap(d time.Duration) { c.ahead.Add(int64(d)) }

// Set changes what the clock shows by whole seconds, as a person or NTP does with a machine's. No time passes: the monotonic
// clock, by which Go compares moments of one process, goes on as before.
func (c *Clock) Set(by time.Duration) { c.set.Add(int64(by)) }

// shows is a moment that shows another time, with the same reading of the monotonic clock, which no function of package time
// makes. Of a time.Time that has such a reading, the first word holds the highest bit, the seconds that it shows, and the 30
// bits of its nanoseconds.
func shows(t time.Time, by time.Duration) time.Time {
	const hasMonotonic, nanoseconds = 1 << 63, 30
	wall := (*uint64)(unsafe.Pointer(&t))
	if *wall&hasMonotonic == 0 {
		return t.Add(by)
	}
	*wall += uint64(int64(by/time.Second)) << nanoseconds
	return t
}
