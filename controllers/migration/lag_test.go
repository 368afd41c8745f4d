package migration_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/controlplane"
)

// A second API server stands still for three seconds while the storage version
// flips, and clients go on writing through it at the old version. The requests
// it holds, and those that reach it before it has heard of the flip, are stored
// at the old version after every object seems to be migrated.
//
// No such object may be left when the trim is visible, nor appear later. The
// test fails when Settle is set to 0 (1 ns here: 0 means the default) and when
// the check after the settle time is left out (Evidence.Proved set after the
// rewriting walk).
func TestAnAPIServerThatLagsBehindTheFlipLeavesNothingStale(t *testing.T) {
	w := newWorld(t, widgets(t).Build())
	second, err := cp.SecondAPIServer()
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = second.Stop() })
	w.Create(200)

	stopWriters := w.oldWriters(second)
	time.Sleep(time.Second)

	w.Expect(second.Pause()).To(Succeed())
	w.Flip("v1")
	resumed := make(chan struct{})
	time.AfterFunc(3*time.Second, func() {
		defer close(resumed)
		_ = second.Resume()
	})
	opts := w.quick()
	opts.Settle = 10 * time.Second
	w.controller(opts)

	w.Eventually(w.StoredVersions, soon, "20ms").Should(Equal([]string{"v1"}))
	w.Expect(w.stale()).To(BeEmpty(), "objects stored at v1alpha1 when the trim is visible")
	<-resumed
	time.Sleep(2 * time.Second) // what the server held arrives now
	wrote := stopWriters()
	w.Expect(w.stale()).To(BeEmpty(), "objects stored at v1alpha1 after the trim")
	w.Eventually(w.Reason, soon, "50ms").Should(Equal(v1alpha1.ReasonMigrated))
	w.Expect(wrote).To(BeNumerically(">", 100), "the writers must have been busy")
}

func (w *world) stale() []string {
	w.t.Helper()
	names, err := cp.Etcd().Stale(w.ctx, w.GR, "v1")
	w.Expect(err).NotTo(HaveOccurred())
	return names
}

// oldWriters create and patch objects at v1alpha1 through the given API server
// until stopped; stop returns how many writes succeeded.
func (w *world) oldWriters(server *controlplane.APIServer) (stop func() int) {
	client := dynamic.NewForConfigOrDie(server.Config).Resource(w.GR.WithVersion("v1alpha1")).Namespace("default")
	ctx, cancel := context.WithCancel(w.ctx)
	wg, mu, wrote := sync.WaitGroup{}, sync.Mutex{}, 0
	kind := w.crd.Spec.Names.Kind
	for worker := range 16 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				var err error
				if i%2 == 0 {
					object := &unstructured.Unstructured{}
					object.SetAPIVersion(w.GR.Group + "/v1alpha1")
					object.SetKind(kind)
					object.SetName(fmt.Sprintf("late-%02d-%05d", worker, i))
					_, err = client.Create(ctx, object, metav1.CreateOptions{})
				} else {
					patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d-%d"}}}`, worker, i)
					_, err = client.Patch(ctx, fmt.Sprintf("object-%05d", (worker*13+i)%200), types.MergePatchType, patch, metav1.PatchOptions{})
				}
				if err == nil {
					mu.Lock()
					wrote++
					mu.Unlock()
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	return func() int {
		cancel()
		wg.Wait()
		return wrote
	}
}
