package rewrite

import (
	"context"
	"sync"
	"time"
)

// unchangedFor is how long after a look at the CRD a write may still be sent. A process that is stopped, or a machine that sleeps, goes on
// with the writes that it was about to send, however long that was ago.
const unchangedFor = 5 * time.Second

// lastLook is when a walk has last looked whether the CRD is the same.
type lastLook struct {
	mu sync.Mutex // one looks, for all workers
	at time.Time
}

// unchanged is asked after each read, since the write names what was read: an API server that lags behind a change would drop what came
// with it.
func (w *Walk) unchanged(ctx context.Context) error {
	w.checked.mu.Lock()
	defer w.checked.mu.Unlock()
	return w.lookWhetherUnchanged(ctx)
}

// stillUnchanged is asked before each write. It looks again if the last look was too long ago.
func (w *Walk) stillUnchanged(ctx context.Context) error {
	w.checked.mu.Lock()
	defer w.checked.mu.Unlock()
	if w.Clock.Since(w.checked.at) < unchangedFor {
		return nil
	}
	return w.lookWhetherUnchanged(ctx)
}

func (w *Walk) lookWhetherUnchanged(ctx context.Context) error {
	if w.Unchanged == nil {
		return nil
	}
	began := w.Clock.Now()
	if err := w.Unchanged(ctx); err != nil {
		return err
	}
	w.checked.at = began
	return nil
}
