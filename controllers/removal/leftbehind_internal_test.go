package removal

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/metrics"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/setup"
)

// Tenants decide how many VersionRemovals there are, their names, and how long their annotations are.

func TestOfALongAnnotationNoMoreIsInMemoryThanIsKept(t *testing.T) {
	g := NewWithT(t)
	const removals, long = 100, 250 << 10
	all := make([]*v1alpha1.VersionRemoval, removals)
	before := heap()
	for i := range all {
		all[i] = &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{argoTracking: strings.Repeat("x", long)}}}
		all[i].Status.LastHandledReconcileAt = strings.Repeat("y", long)
		_, err := slim(all[i])
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(heap()-before).To(BeNumerically("<", removals*8*maxKept), "of %d MiB", 2*removals*long>>20)
	g.Expect(all[0].Annotations[argoTracking]).To(HaveLen(maxKept + len("…")))
}

// heap is what is in use, in bytes.
func heap() int64 {
	runtime.GC()
	stats := runtime.MemStats{}
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// empty is a cluster without anything.
type empty struct{ client.Client }

func (empty) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "versionremovals"}, key.Name)
}

func TestMetricsGoWithTheirVersionRemoval(t *testing.T) {
	g := NewWithT(t)
	scheme, err := setup.Scheme(v1alpha1.AddToScheme)
	g.Expect(err).NotTo(HaveOccurred())
	recorder, registry := metrics.NewRecorder(), prometheus.NewRegistry()
	registry.MustRegister(recorder.Collectors()...)
	series := func() (n int) {
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			n += len(family.GetMetric())
		}
		return n
	}
	r := &Reconciler{
		opts: Options{Migration: migration.NewStateStore(), Clock: clock.RealClock{}}, client: empty{}, states: newStateStore(),
		metrics: controller.Metrics{Scheme: scheme, MetricsRecorder: recorder},
	}
	removal := &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "no-v1alpha1"}}
	r.measure(t.Context(), removal, r.opts.Clock.Now())
	g.Expect(series()).To(BeNumerically(">", 0))
	_, err = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(removal)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(series()).To(BeZero())
}
