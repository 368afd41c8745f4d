package removal

import (
	"context"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
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
	m := newMeasured(t)
	r := &Reconciler{
		opts: Options{Migration: migration.NewStateStore(), Clock: clock.RealClock{}}, client: empty{}, states: newStateStore(), metrics: m.series,
	}
	removal := &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "no-v1alpha1"}}
	r.metrics.record(t.Context(), removal, r.opts.Clock.Now())
	histograms, _, _ := m.shown()
	g.Expect(histograms).To(Equal(1))
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(removal)})
	g.Expect(err).NotTo(HaveOccurred())
	_, series, _ := m.shown()
	g.Expect(series).To(BeZero())
}
