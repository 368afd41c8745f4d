package removal

import (
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

// newQueue is a work queue in which namespaces take turns, so that one with
// thousands of VersionRemovals does not hold up the others.
func newQueue(name string, limiter workqueue.TypedRateLimiter[ctrl.Request]) workqueue.TypedRateLimitingInterface[ctrl.Request] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[ctrl.Request]{
		Name: name,
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[ctrl.Request]{
			Name:  name,
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[ctrl.Request]{Name: name, Queue: newTurns()}),
		}),
	})
}

// turns is the order of such a queue: first come, first served within a
// namespace, and one of each namespace after the other. CRDs, which have none,
// take turns as one more.
type turns struct {
	namespaces []string // that wait, the next one first
	waiting    map[string][]ctrl.Request
	length     int
}

func newTurns() *turns { return &turns{waiting: map[string][]ctrl.Request{}} }

// Touch is called for what waits already: it keeps its place.
func (*turns) Touch(ctrl.Request) {}

// Push adds a request behind those of its namespace.
func (t *turns) Push(r ctrl.Request) {
	if len(t.waiting[r.Namespace]) == 0 {
		t.namespaces = append(t.namespaces, r.Namespace)
	}
	t.waiting[r.Namespace] = append(t.waiting[r.Namespace], r)
	t.length++
}

// Len is how many requests wait.
func (t *turns) Len() int { return t.length }

// Pop takes the first request of the namespace whose turn it is.
func (t *turns) Pop() ctrl.Request {
	namespace := t.namespaces[0]
	t.namespaces = t.namespaces[1:]
	requests := t.waiting[namespace]
	t.length--
	if len(requests) == 1 {
		delete(t.waiting, namespace)
	} else {
		t.waiting[namespace] = requests[1:]
		t.namespaces = append(t.namespaces, namespace)
	}
	return requests[0]
}
