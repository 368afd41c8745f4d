package rehearse

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// BenchmarkRehearse rehearses the objects of a cluster with conversion None. It measures how long 1,000 of them take,
// and the most that lies on the heap, which is the same for ten times as many. `make bench SCENARIO=rehearse` prints
// it.
func BenchmarkRehearse(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("%d objects", n), func(b *testing.B) {
			g := NewWithT(b)
			crd := builders.CRD(builders.UniqueGroup(b), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
			w := running.Install(b, cp, crd)
			w.Create(n)
			crd.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
			crd.Spec.Versions[0].Storage, crd.Spec.Versions[1].Storage = false, true
			raw, err := yaml.Marshal(crd)
			g.Expect(err).NotTo(HaveOccurred())
			kubeconfig, err := cp.KubeConfig()
			g.Expect(err).NotTo(HaveOccurred())
			folder := b.TempDir()
			for name, content := range map[string][]byte{"crd.yaml": raw, "kubeconfig": kubeconfig} {
				g.Expect(os.WriteFile(filepath.Join(folder, name), content, 0o600)).To(Succeed())
			}
			most := uint64(0)
			b.ResetTimer()
			for b.Loop() {
				stop := watchHeap(b.Context(), &most)
				got := suite.Moult.Run(b, "rehearse", "--kubeconfig", filepath.Join(folder, "kubeconfig"), "--crds", filepath.Join(folder, "crd.yaml"))
				stop()
				g.Expect(got.Code).To(Equal(0), got.Out+got.ErrOut)
				g.Expect(got.Out).To(ContainSubstring(fmt.Sprintf("%d come back the same", n)))
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*1000/float64(n), "s/1000objects")
			b.ReportMetric(float64(most)/(1<<20), "MiB-heap")
		})
	}
}

// watchHeap notes the most that is on the heap until it is stopped.
func watchHeap(ctx context.Context, most *uint64) (stop func()) {
	runtime.GC()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			<-ticker.C
			stats := runtime.MemStats{}
			runtime.ReadMemStats(&stats)
			*most = max(*most, stats.HeapAlloc)
		}
	}()
	return func() { cancel(); <-done }
}
