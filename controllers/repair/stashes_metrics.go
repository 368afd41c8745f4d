package repair

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moult-dev/moult/controllers/rewrite/stashes"
)

// stashMetrics are those of stashed copies, all labelled by CRD.
type stashMetrics struct {
	moved *prometheus.CounterVec
	left  *prometheus.GaugeVec // by reason
	known *prometheus.GaugeVec
}

func newStashMetrics(reg prometheus.Registerer) (*stashMetrics, error) {
	m := &stashMetrics{
		moved: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "moult_stashes_moved_total",
			Help: "Stashed copies of objects of the CRD that were moved to a version that stays."}, []string{"crd"}),
		left: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_stashes_left",
			Help: "Stashed copies that the last look has found and has not moved, by reason; docs/survivors.md has these."}, []string{"crd", "reason"}),
		known: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_stashes_known",
			Help: "1 if the last look at stashed copies has seen all that may hold or name one, else 0."}, []string{"crd"}),
	}
	return m, errors.Join(register(reg, &m.moved), register(reg, &m.left), register(reg, &m.known))
}

func (m *stashMetrics) looked(crd string, f foundStashes) {
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
	for _, reason := range stashes.Reasons {
		m.left.WithLabelValues(crd, string(reason)).Set(0)
	}
	for i := range f.Left {
		m.left.WithLabelValues(crd, string(f.Left[i].Reason)).Set(float64(f.Left[i].Count))
	}
}

// forget drops the gauges of a CRD.
func (m *stashMetrics) forget(crd string) {
	m.known.DeleteLabelValues(crd)
	m.left.DeletePartialMatch(prometheus.Labels{"crd": crd})
}
