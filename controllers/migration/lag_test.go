package migration_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
)

// A second API server stands still while the storage version flips, and clients go on writing through it at the old version.
// The requests it holds, and those that reach it before it has heard of the flip, are stored at the old version after every
// object seems to be migrated. The settle time is the assumption that this has an end, so the test ends it when the last of
// these requests has been answered.
//
// No such object may be left when the trim is visible, nor appear later. The test fails when Settle is set to 0 (1 ns
// here: 0 means the default). It fails, too, when the check after the settle time is left out (Evidence.Proved set
// after the rewriting walk).
func TestAnAPIServerThatLagsBehindTheFlipLeavesNothingStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, widgets(t).Build())
	second := w.second(cp)
	w.Create(200)
	opts := w.quiet()
	opts.Settle = time.Hour
	w.controller(opts)
	w.eventuallySettling()
	w.triesAgain()
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated), "the schemas are known when the storage version flips")

	wrote, stopOld := w.oldWriters(second, "before", 16)
	w.Eventually(wrote.Load, soon, "10ms").Should(BeNumerically(">", 100), "the writers must be busy")
	w.Expect(second.Pause()).To(Succeed())
	late := w.raw("object-00007")
	w.Flip("v1")
	w.eventuallySettling()
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))

	w.Expect(second.Resume()).To(Succeed())
	w.eventuallyStoresAt("v1", second)
	stopOld() // what the server held has arrived
	w.Expect(cp.Etcd().Put(w.ctx, w.GR, "default", "object-00007", []byte(late))).To(Succeed(), "one write that is late for sure")
	_, stopNew := w.oldWriters(second, "after", 2) // clients do not stop for a migration
	w.Eventually(func() []string {
		status, _ := opts.StateStore.Status(w.crd.Name)
		if w.clock.Now().Before(status.Evidence.WindowEnd) { // the first check finds what came late, and begins the settle time anew
			w.triesAgain()
		}
		return w.StoredVersions()
	}, soon).Should(Equal([]string{"v1"}))
	w.Expect(w.stale()).To(BeEmpty(), "objects stored at v1alpha1 when the trim is visible")
	stopNew()
	w.Expect(w.stale()).To(BeEmpty(), "objects stored at v1alpha1 after the trim")
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
}

// eventuallyStoresAt waits until a server stores at a version what is new.
func (w *world) eventuallyStoresAt(version string, server *controlplane.APIServer) {
	w.t.Helper()
	tries := 0
	w.Eventually(func() (string, error) {
		tries++
		probe := fmt.Sprintf("probe-%05d", tries)
		if err := builders.CreateObjects(w.ctx, server.Config, w.GR.WithVersion("v1alpha1"), "default", 1, builders.Prefix(probe)); err != nil {
			return "", err
		}
		return cp.Etcd().StoredVersion(w.ctx, w.GR, "default", probe+"-00000")
	}, soon).Should(Equal(version))
}

func (w *world) stale() []string {
	w.t.Helper()
	names, err := cp.Etcd().Stale(w.ctx, w.GR, "v1")
	w.Expect(err).NotTo(HaveOccurred())
	return names
}

// oldWriters create and patch objects at v1alpha1 through the given API server until stopped: stop returns when the last
// request has been answered. Each creates some objects, named by the prefix.
func (w *world) oldWriters(server *controlplane.APIServer, prefix string, workers int) (wrote *atomic.Int64, stop func()) {
	client := dynamic.NewForConfigOrDie(server.Config).Resource(w.GR.WithVersion("v1alpha1")).Namespace("default")
	wrote, stopped, wg := &atomic.Int64{}, make(chan struct{}), &sync.WaitGroup{}
	stop = sync.OnceFunc(func() {
		close(stopped)
		wg.Wait()
	})
	w.t.Cleanup(stop)
	kind := w.crd.Spec.Names.Kind
	for worker := range workers {
		wg.Go(func() {
			for i := 0; !isClosed(stopped); i++ {
				var err error
				if i%2 == 0 && i < 40 {
					object := &unstructured.Unstructured{}
					object.SetAPIVersion(w.GR.Group + "/v1alpha1")
					object.SetKind(kind)
					object.SetName(fmt.Sprintf("%s-%02d-%05d", prefix, worker, i))
					_, err = client.Create(context.WithoutCancel(w.ctx), object, metav1.CreateOptions{})
				} else {
					patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%s-%d-%d"}}}`, prefix, worker, i)
					_, err = client.Patch(context.WithoutCancel(w.ctx), fmt.Sprintf("object-%05d", (worker*13+i)%200), types.MergePatchType, patch, metav1.PatchOptions{})
				}
				if err == nil {
					wrote.Add(1)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	return wrote, stop
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
