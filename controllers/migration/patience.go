package migration

import (
	"cmp"
	"context"
	"time"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/controllers/setup"
)

// A tenant's conversion webhook may take as long as it likes, and the walk keeps the room for schemas meanwhile. So a walk behind a
// webhook ends when another one waits for that room, and begins anew behind it. All schemas together take what the room has.
const (
	// patience is how long a walk may keep it in any case. It is doubled each time, so that of two long walks both end.
	patience     = time.Minute
	mostPatience = 64 * patience
	// askAgain is how often it is asked from then on whether another one waits.
	askAgain = 10 * time.Second
)

// givingWay is a context for a walk that ends when it has to give way.
func (w *walks) givingWay(ctx context.Context, run *walking) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	timer := w.clock.NewTimer(cmp.Or(w.patience[run.crd.Name], patience))
	w.mu.Unlock()
	w.wg.Go(func() {
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C():
			}
			if w.walker.inTheWay(run) {
				cancel()
			}
			timer.Reset(askAgain)
		}
	})
	return ctx, cancel
}

// end takes a walk off the list.
func (w *walks) end(run *walking, gaveWay bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := run.crd.Name
	if w.running[name] != run {
		return
	}
	delete(w.running, name)
	if gaveWay {
		w.patience[name] = min(2*cmp.Or(w.patience[name], patience), mostPatience)
	} else {
		delete(w.patience, name)
	}
}

// makeRoom is for the schemas, by which the guard judges all objects, and by which entries of managedFields are moved.
func (r *Reconciler) makeRoom(ctx context.Context, w *walking) (leave func(), err error) {
	return r.opts.Room.ForSchemas(ctx, setup.SchemaBytes(w.crd))
}

func (r *Reconciler) inTheWay(w *walking) bool {
	return crds.HasWebhook(w.crd) && r.opts.Room.Wanted(setup.SchemaBytes(w.crd))
}
