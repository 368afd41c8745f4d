package removal

import (
	"context"
	"sync"
	"time"

	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/setup"
)

const (
	// mostMeasured is how many VersionRemovals have metrics of their own. Those of one take 8 KiB, and a scrape 4 KiB more. A tenant
	// decides how many there are, so all together take 6 MiB at most.
	mostMeasured = 500
	// mostOfNamespace is how many of them may be in one namespace, so that one tenant leaves room for others.
	mostOfNamespace = mostMeasured / 2
)

// series are the metrics that other GitOps controllers have, of so many VersionRemovals.
type series struct {
	of controller.Metrics

	mu       sync.Mutex
	measured map[types.NamespacedName]bool // all that were recorded; false are those without series
	all      int                           // with series
	by       map[string]int                // with series, by namespace
}

func newSeries(of controller.Metrics, reg prometheus.Registerer) (*series, error) {
	s := &series{of: of, measured: map[types.NamespacedName]bool{}, by: map[string]int{}}
	unmeasured := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "moult_version_removals_unmeasured",
		Help: "VersionRemovals without gotk_ metrics of their own, since there are too many."}, s.unmeasured)
	return s, setup.Register(reg, &unmeasured)
}

func (s *series) unmeasured() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return float64(len(s.measured) - s.all)
}

// record records the metrics of a VersionRemoval, if there is room for them.
func (s *series) record(ctx context.Context, removal *v1alpha1.VersionRemoval, started time.Time) {
	name := client.ObjectKeyFromObject(removal)
	if !removal.DeletionTimestamp.IsZero() {
		s.drop(ctx, name)
		return
	}
	if !s.enter(name) {
		return
	}
	s.of.RecordDuration(ctx, removal, started)
	s.of.RecordReadiness(ctx, removal)
	s.of.RecordReconciling(ctx, removal)
	s.of.RecordStalled(ctx, removal)
}

// enter reports whether a VersionRemoval has series. One without gets them when there is room at its next evaluation.
func (s *series) enter(name types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.measured[name] {
		return true
	}
	has := s.all < mostMeasured && s.by[name.Namespace] < mostOfNamespace
	s.measured[name] = has
	if has {
		s.all++
		s.by[name.Namespace]++
	}
	return has
}

// drop removes the series of a VersionRemoval that no longer exists, and makes room for others.
func (s *series) drop(ctx context.Context, name types.NamespacedName) {
	if !s.leave(name) {
		return
	}
	now := metav1.Now() // the library drops those of an object that is being deleted
	deleted := &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, DeletionTimestamp: &now}}
	s.of.RecordDuration(ctx, deleted, now.Time)
	s.of.RecordReadiness(ctx, deleted)
	s.of.RecordReconciling(ctx, deleted)
	s.of.RecordStalled(ctx, deleted)
}

// leave reports whether a VersionRemoval had series, and forgets it.
func (s *series) leave(name types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	has := s.measured[name]
	delete(s.measured, name)
	if !has {
		return false
	}
	s.all--
	if s.by[name.Namespace]--; s.by[name.Namespace] == 0 {
		delete(s.by, name.Namespace)
	}
	return true
}
