package throttle

import (
	"slices"
	"time"
)

const (
	// start is the limit before anything is known.
	start = 2.0
	// memory is how long the quickest answer of a lane is remembered, at least;
	// at most twice as long.
	memory = 15 * time.Second
	// fewest and most answers make up a window.
	fewest, most = 8, 64
)

// limit is how many requests may be under way so that about as many as queue of them wait inside the API server. They
// are enough that it hardly waits for us, and few enough that others hardly wait for us. It follows from Little's law:
// with n requests under way, answers that take t and would take best if none had to wait, n × (1 − best/t) are waiting.
// Hence n × best/t + queue is right, whatever the time on the wire and the cores of the API server. It is the rule of
// TCP Vegas and of Netflix' gradient limiter.
type limit struct {
	n     float64 // requests that may be under way
	max   float64 // and never more
	queue float64 // of them may wait

	shares []float64 // best/t of the answers of this window
	since  time.Time // when the window, and the n it is about, began
	cut    time.Time // when n was last halved
}

func newLimit(most int, queue float64) limit {
	return limit{n: min(start, float64(most)), max: float64(most), queue: queue}
}

// answered notes the answer to a request: the share of its time that it would
// have taken had it not had to wait.
func (l *limit) answered(began, now time.Time, share float64) {
	if began.Before(l.since) {
		return // it is about an earlier n
	}
	l.shares = append(l.shares, share)
	if len(l.shares) < min(max(fewest, int(2*l.n)), most) {
		return
	}
	slices.Sort(l.shares)
	l.n = min(max(1, l.n*l.shares[len(l.shares)/2]+l.queue), l.max)
	l.begin(now)
}

// overloaded halves n, once for all requests that were under way together.
func (l *limit) overloaded(began, now time.Time) {
	if began.Before(l.cut) {
		return
	}
	l.n, l.cut = max(1, l.n/2), now
	l.begin(now)
}

func (l *limit) begin(now time.Time) {
	l.shares, l.since = l.shares[:0], now
}

// best is the quickest answer of the last while.
type best struct {
	now, before time.Duration
	since       time.Time
}

// share notes an answer that took t and returns best/t.
func (b *best) share(now time.Time, t time.Duration) float64 {
	if now.Sub(b.since) > memory {
		b.before, b.now, b.since = b.now, 0, now
	}
	if b.now == 0 || t < b.now {
		b.now = t
	}
	quickest := b.now
	if b.before != 0 {
		quickest = min(quickest, b.before)
	}
	return float64(quickest) / float64(max(t, 1))
}
