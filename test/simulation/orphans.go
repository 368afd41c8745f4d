package simulation

import "time"

// orphan takes the Namespace away and fixes that in the end.
func (w *world) orphan(e Event) {
	w.etcd.mu.Lock()
	w.etcd.orphaned = true
	w.etcd.mu.Unlock()
	w.running.Go(func() {
		time.Sleep(e.For)
		w.adopt(e.Emptied)
	})
}

// adopt has the orphaned objects deleted, which needs no Namespace, or their Namespace made anew. If they are deleted, the
// Namespace stays away.
func (w *world) adopt(deleting bool) {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	for _, name := range w.etcd.names() {
		switch {
		case !w.etcd.orphaned || namespaceOf(name) != other:
		case deleting:
			w.etcd.remove(name)
			w.tell("%s is deleted", name)
		default:
			w.etcd.orphaned = false
			w.tell("the Namespace is made anew")
		}
	}
}
