package repair

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moult-dev/moult/controllers/rewrite/owners"
)

// ownerMetrics are those of owner references, all labelled by CRD.
type ownerMetrics struct {
	moved *prometheus.CounterVec
	left  *prometheus.GaugeVec // by reason
	known *prometheus.GaugeVec
}

func newOwnerMetrics(reg prometheus.Registerer) (*ownerMetrics, error) {
	r := &ownerMetrics{
		moved: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "moult_owner_references_moved_total",
			Help: "Owner references to objects of the CRD that were moved to the storage version."}, []string{"crd"}),
		left: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_owner_references_left",
			Help: "Owner references that the last look has found and could not move, by reason: ComesBack, Forbidden, Refused, OwnerGone, OwnerUnknown."}, []string{"crd", "reason"}),
		known: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_owner_references_known",
			Help: "1 if the last look at owner references has seen all objects of the cluster to its end, else 0."}, []string{"crd"}),
	}
	return r, errors.Join(register(reg, &r.moved), register(reg, &r.left), register(reg, &r.known))
}

// register adds a metric, or takes the one that a second reconciler in the same process has already added.
func register[C prometheus.Collector](reg prometheus.Registerer, c *C) error {
	err := reg.Register(*c)
	if are := (prometheus.AlreadyRegisteredError{}); errors.As(err, &are) {
		if existing, ok := are.ExistingCollector.(C); ok {
			*c = existing
			return nil
		}
	}
	return err
}

func (m *ownerMetrics) looked(crd string, f foundReferences) {
	m.moved.WithLabelValues(crd).Add(float64(f.Moved))
	if f.stopped() {
		return
	}
	known := 1.0
	if f.err != nil || f.Unfinished || len(f.NotLooked) > 0 {
		known = 0
	}
	m.known.WithLabelValues(crd).Set(known)
	if f.err != nil {
		return // what the look before has found is the last that is known
	}
	for _, reason := range owners.Reasons {
		m.left.WithLabelValues(crd, string(reason)).Set(0)
	}
	for i := range f.Left {
		m.left.WithLabelValues(crd, string(f.Left[i].Reason)).Set(float64(f.Left[i].Count))
	}
}

// forget drops the gauges of a CRD.
func (m *ownerMetrics) forget(crd string) {
	m.known.DeleteLabelValues(crd)
	m.left.DeletePartialMatch(prometheus.Labels{"crd": crd})
}
