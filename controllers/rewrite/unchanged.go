package rewrite

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// unchangedFor is how long after a look at the CRD a write may still be sent. A process that is stopped, or a machine that sleeps, goes on
// with the writes that it was about to send, however long that was ago.
const unchangedFor = 5 * time.Second

// lastLook is when a walk has last looked whether the CRD is the same.
type lastLook struct {
	mu sync.Mutex // not held while somebody looks: workers may look at the same time
	at time.Time
}

func (l *lastLook) isWithin(c clock.PassiveClock, d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.Since(l.at) < d
}

func (l *lastLook) began(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.After(l.at) {
		l.at = at
	}
}

// unchanged is asked after each read, since the write names what was read: an API server that lags behind a change would drop what came
// with it.
func (w *Walk) unchanged(ctx context.Context) error {
	if w.Unchanged == nil {
		return nil
	}
	began := w.Clock.Now()
	if err := w.Unchanged(ctx); err != nil {
		return err
	}
	w.checked.began(began)
	return nil
}

// stillUnchanged is asked before each write. It looks again if the last look was too long ago.
func (w *Walk) stillUnchanged(ctx context.Context) error {
	if w.checked.isWithin(w.Clock, unchangedFor) {
		return nil
	}
	return w.unchanged(ctx)
}
