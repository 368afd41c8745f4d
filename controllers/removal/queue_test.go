package removal

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

func asked(name string) ctrl.Request {
	namespace, name, _ := strings.Cut(name, "/")
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func TestNamespacesTakeTurns(t *testing.T) {
	for name, c := range map[string]struct{ pushed, popped string }{
		"one namespace is served in order":                     {"a/1 a/2 a/3", "a/1 a/2 a/3"},
		"one that comes late waits for one of the others":      {"a/1 a/2 a/3 b/1", "a/1 b/1 a/2 a/3"},
		"three take turns until one has nothing more":          {"a/1 a/2 a/3 b/1 c/1 c/2", "a/1 b/1 c/1 a/2 c/2 a/3"},
		"a CRD, which has no namespace, has a turn of its own": {"a/1 a/2 /crd", "a/1 /crd a/2"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			q := newTurns()
			for _, r := range strings.Fields(c.pushed) {
				q.Push(asked(r))
			}
			var popped []string
			for q.Len() > 0 {
				r := q.Pop()
				popped = append(popped, r.Namespace+"/"+r.Name)
			}
			g.Expect(strings.Join(popped, " ")).To(Equal(c.popped))
			g.Expect(q.waiting).To(BeEmpty(), "nothing is kept of those that have gone")
		})
	}
}

// What holds in the order holds in the queue that is made of it.
func TestTheQueueTakesTurnsAndForgetsNothing(t *testing.T) {
	g := NewWithT(t)
	q := newQueue("", workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer q.ShutDown()
	for _, r := range []string{"a/1", "a/2", "a/1", "b/1"} {
		q.Add(asked(r))
	}
	for _, want := range []string{"a/1", "b/1", "a/2"} {
		got, _ := q.Get()
		g.Expect(got).To(Equal(asked(want)))
		q.Done(got)
	}
	g.Expect(q.Len()).To(BeZero())
}
