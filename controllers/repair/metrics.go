package repair

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/controllers/setup"
)

// repairMetrics are those of one kind, all labelled by CRD.
type repairMetrics struct {
	moved   *prometheus.CounterVec
	left    *prometheus.GaugeVec // by reason
	known   *prometheus.GaugeVec
	reasons []repairs.InWords
}

func newOwnerMetrics(reg prometheus.Registerer) (*repairMetrics, error) {
	return registered(reg, &repairMetrics{
		moved: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "moult_owner_references_moved_total",
			Help: "Owner references to objects of the CRD that were moved to the storage version."}, []string{"crd"}),
		left: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_owner_references_left",
			Help: "Owner references that the last look has found and could not move, by reason: ComesBack, Forbidden, Refused, FieldsWouldBeLost, OwnerGone, OwnerUnknown."}, []string{"crd", "reason"}),
		known: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_owner_references_known",
			Help: "1 if the last look at owner references has seen all objects of the cluster to its end, else 0."}, []string{"crd"}),
		reasons: owners.Kind.Reasons,
	})
}

func newStashMetrics(reg prometheus.Registerer) (*repairMetrics, error) {
	return registered(reg, &repairMetrics{
		moved: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "moult_stashes_moved_total",
			Help: "Stashed copies of objects of the CRD that were moved to a version that stays."}, []string{"crd"}),
		left: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_stashes_left",
			Help: "Stashed copies that the last look has found and has not moved, by reason; docs/survivors.md has these."}, []string{"crd", "reason"}),
		known: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_stashes_known",
			Help: "1 if the last look at stashed copies has seen all that may hold or name one, else 0."}, []string{"crd"}),
		reasons: embeddedcopies.Kind.Reasons,
	})
}

func registered(reg prometheus.Registerer, m *repairMetrics) (*repairMetrics, error) {
	if err := errors.Join(setup.Register(reg, &m.moved), setup.Register(reg, &m.left), setup.Register(reg, &m.known)); err != nil {
		return nil, fmt.Errorf("metrics of repairs: %w", err)
	}
	return m, nil
}

// looked measures a look. One that was stopped, or failed, leaves what the look before has found: it is the last that is known.
func (m *repairMetrics) looked(crd string, f finding) {
	m.moved.WithLabelValues(crd).Add(float64(f.Moved))
	if f.stopped() {
		return
	}
	known := 0.0
	if f.known() {
		known = 1
	}
	m.known.WithLabelValues(crd).Set(known)
	if f.err != nil {
		return
	}
	for _, reason := range m.reasons {
		m.left.WithLabelValues(crd, string(reason.Reason)).Set(0)
	}
	for i := range f.Left {
		m.left.WithLabelValues(crd, string(f.Left[i].Reason)).Set(float64(f.Left[i].Count))
	}
}

// forget drops the gauges of a CRD.
func (m *repairMetrics) forget(crd string) {
	m.known.DeleteLabelValues(crd)
	m.left.DeletePartialMatch(prometheus.Labels{"crd": crd})
}
