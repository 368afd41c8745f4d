package repair

import "context"

// mostNamed is how many of each sort are kept to be named.
const mostNamed = 20

// work is a repair for some CRDs, in the background.
type work struct {
	subjects []subject
	cancel   context.CancelFunc
	done     chan struct{}

	// From here on only after done.
	found map[string]finding // by CRD
}

// start begins a repair.
func (r *Reconciler) start(subjects []subject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.base)
	w := &work{subjects: subjects, cancel: cancel, done: make(chan struct{})}
	r.work = w
	r.works.Go(func() {
		defer cancel()
		w.found = r.kind.repair(ctx, subjects)
		close(w.done)
		select {
		case r.ended <- struct{}{}:
		default: // one that was not read yet will do
		}
	})
}

func (w *work) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// subjectsOf are those of a repair that is under way.
func (w *work) subjectsOf() []subject {
	if w == nil {
		return nil
	}
	return w.subjects
}
