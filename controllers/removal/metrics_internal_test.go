package removal

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/metrics"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/setup"
)

// measured is series with a registry of their own.
type measured struct {
	*series

	t        *testing.T
	registry *prometheus.Registry
}

func newMeasured(t *testing.T) measured {
	t.Helper()
	g := NewWithT(t)
	scheme, err := setup.Scheme(v1alpha1.AddToScheme)
	g.Expect(err).NotTo(HaveOccurred())
	recorder, registry := metrics.NewRecorder(), prometheus.NewRegistry()
	registry.MustRegister(recorder.Collectors()...)
	s, err := newSeries(controller.Metrics{Scheme: scheme, MetricsRecorder: recorder}, registry)
	g.Expect(err).NotTo(HaveOccurred())
	return measured{s, t, registry}
}

// removals are of one namespace, with names as long as they may be.
func removals(namespace string, n int) (all []*v1alpha1.VersionRemoval) {
	for i := range n {
		name := fmt.Sprintf("%s-%05d", strings.Repeat("a", 240), i)
		all = append(all, &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	return all
}

func (m measured) note(all []*v1alpha1.VersionRemoval) {
	for _, removal := range all {
		m.record(m.t.Context(), removal, time.Now())
	}
}

// shown is how many VersionRemovals have series, how many series these are, and how many have none as the gauge shows it.
func (m measured) shown() (histograms, series int, without float64) {
	m.t.Helper()
	families, err := m.registry.Gather()
	NewWithT(m.t).Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		switch n := len(family.GetMetric()); family.GetName() {
		case "moult_version_removals_unmeasured":
			without = family.GetMetric()[0].GetGauge().GetValue()
		case "gotk_reconcile_duration_seconds":
			histograms, series = n, series+n
		default:
			series += n
		}
	}
	return histograms, series, without
}

func TestSeriesAreOfSoManyVersionRemovals(t *testing.T) {
	g := NewWithT(t)
	m := newMeasured(t)
	expect := func(measured, without int) {
		t.Helper()
		histograms, series, unmeasured := m.shown()
		g.Expect([]int{histograms, series, int(unmeasured)}).To(Equal([]int{measured, 10 * measured, without}))
	}
	platform, tenant, other := removals("platform", 10), removals("tenant", 1000), removals("other", 1000)
	m.note(tenant)
	m.note(tenant)
	expect(mostOfNamespace, 1000-mostOfNamespace)
	m.note(platform)
	expect(mostOfNamespace+10, 1000-mostOfNamespace)
	m.note(other)
	expect(mostMeasured, 2010-mostMeasured)

	deleted := tenant[0].DeepCopy()
	deleted.DeletionTimestamp = new(metav1.Now())
	m.note([]*v1alpha1.VersionRemoval{deleted})
	m.drop(t.Context(), client.ObjectKeyFromObject(tenant[1]))
	expect(mostMeasured-2, 2008-mostMeasured+2)
	m.note(tenant[2:])
	expect(mostMeasured, 2008-mostMeasured)
	for _, removal := range slices.Concat(tenant[2:], other, platform) {
		m.drop(t.Context(), client.ObjectKeyFromObject(removal))
	}
	expect(0, 0)
	g.Expect([]int{len(m.measured), len(m.by), m.all}).To(HaveEach(0))
}

// Tenants decide how many VersionRemovals there are, and how long their names are: the series of each took 8 KiB.
func TestManyVersionRemovalsTakeFewBytesForTheirMetrics(t *testing.T) {
	g := NewWithT(t)
	m := newMeasured(t)
	const n = 10_000
	all := removals("tenant", n)
	before := heap()
	m.note(all)
	each := (heap() - before) / n
	t.Logf("%d bytes for each VersionRemoval", each)
	g.Expect(each).To(BeNumerically("<", 512))
	runtime.KeepAlive(m)
	runtime.KeepAlive(all)
}
