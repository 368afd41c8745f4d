package faults_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/faults"
)

// namespaceDeleted deletes a namespace. Nobody empties it here, so its objects are deleted, too.
func namespaceDeleted(w *world) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "doomed-"}}
	w.Expect(w.client.Create(w.ctx, ns)).To(Succeed())
	w.doomed = ns.Name
	w.create("widgets", w.doomed, 40)
	w.flip()
	w.begin()
	w.midPass(func() { w.start() })
	w.judge.AllowDeletes()
	w.Expect(w.client.Delete(w.ctx, ns)).To(Succeed())
	w.Expect(w.at(w.cp.Config, "v1", "widgets", w.doomed).DeleteCollection(w.ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
}

// crdDeleted deletes the CRD with all its objects, and puts both back as they were: a restore.
func crdDeleted(w *world) {
	w.flip()
	w.begin()
	w.midPass(func() { w.start() })
	w.judge.AllowDeletes()
	w.Expect(w.client.Delete(w.ctx, w.live("widgets").DeepCopy())).To(Succeed())
	w.until("the CRD is gone", func() bool { return w.live("widgets").Name == "" })
	w.until("the other CRD is migrated all the same", func() bool { return w.reason("gadgets") == v1alpha1.ReasonMigrated })
	if !w.late {
		w.until("nothing is held back where nothing is", func() bool { return w.verdict() == "True "+v1alpha1.ReasonNothingStored })
	}
	w.install(w.crd("widgets"))
	if !w.late {
		w.until("the gate is shut again", func() bool { return !strings.HasPrefix(w.verdict(), "True ") })
	}
	w.create("widgets", w.namespace, w.widgets)
	w.remember()
	w.judge.Flips(w.settle)
	w.Expect(w.flipTo("widgets", "v1")).To(Succeed())
}

// churned writes the status of every object, over and over, until the migration is complete.
func churned(w *world) {
	w.flip()
	w.begin()
	w.churn(4, w.widgets, 15*time.Millisecond)
	w.start()
	w.completes()
}

// hot writes the status of one object as fast as it goes. To repair its managedFields takes a moment without a write:
// if there is none, the object is named, and no other one waits for it.
func hot(w *world) {
	w.flip()
	w.begin()
	w.churn(3, 1, 2*time.Millisecond)
	w.start()
	w.until("all other objects are migrated", func() bool {
		return w.stored("widgets")["v1"] >= w.widgets-1 && w.reason("gadgets") == v1alpha1.ReasonMigrated
	})
	w.until("the one is migrated, or named", func() bool {
		return w.isDone() || strings.Contains(w.condition("widgets").Message, name(0)+": Conflict")
	})
}

// churn writes the status of the first n objects with so many workers, past the proxy, until the fault ends. The pause is
// that of a worker between two writes.
func (w *world) churn(workers, n int, pause time.Duration) {
	ctx, stop := context.WithCancel(w.ctx)
	var all sync.WaitGroup
	var wrote atomic.Int64
	objects := w.at(w.cp.Config, "v1", "widgets", w.namespace)
	for worker := range workers {
		all.Go(func() {
			for i := worker; ctx.Err() == nil; i += workers {
				body := fmt.Appendf(nil, `{"status":{"observedSize":%d}}`, i)
				if _, err := objects.Patch(ctx, name(i%n), types.MergePatchType, body, metav1.PatchOptions{FieldManager: "churner"}, "status"); err == nil {
					wrote.Add(1)
				}
				time.Sleep(pause)
			}
		})
	}
	w.busy = faults.Busy{Managers: []string{"churner"}, Change: func(o *unstructured.Unstructured) {
		unstructured.RemoveNestedField(o.Object, "status", "observedSize")
		if status, _, _ := unstructured.NestedMap(o.Object, "status"); len(status) == 0 {
			delete(o.Object, "status")
		}
	}}
	w.atTheEnd(func() {
		stop()
		all.Wait()
		w.Expect(wrote.Load()).To(BeNumerically(">", 50), "the writers must have been busy")
	})
}

// writeAt creates and writes objects at a version through an API server, until stopped; stop tells how many writes were
// accepted.
func (w *world) writeAt(version string, cfg *rest.Config) (stop func() int64) {
	ctx, cancel := context.WithCancel(w.ctx)
	var all sync.WaitGroup
	var wrote atomic.Int64
	objects := w.at(cfg, version, "widgets", w.namespace)
	for worker := range 12 {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				var err error
				if i%4 == 0 {
					object := &unstructured.Unstructured{}
					object.SetAPIVersion(w.group + "/" + version)
					object.SetKind("Widget")
					object.SetName(fmt.Sprintf("late-%02d-%05d", worker, i))
					_, err = objects.Create(ctx, object, metav1.CreateOptions{FieldManager: "late-writer"})
				} else {
					body := fmt.Appendf(nil, `{"metadata":{"annotations":{"late":"%d-%d"}}}`, worker, i)
					_, err = objects.Patch(ctx, name((worker*13+i)%w.widgets), types.MergePatchType, body, metav1.PatchOptions{FieldManager: "late-writer"})
				}
				if err == nil {
					wrote.Add(1)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	w.busy = faults.Busy{Managers: []string{"late-writer"}, Change: func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }}
	stop = func() int64 {
		cancel()
		all.Wait()
		return wrote.Load()
	}
	w.t.Cleanup(func() { stop() })
	return stop
}
