package repair

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
)

func TestMetricsShowWhatTheLastWholeLookHasFound(t *testing.T) {
	g := NewWithT(t)
	reg := prometheus.NewRegistry()
	m, err := newStashMetrics(reg)
	g.Expect(err).NotTo(HaveOccurred())
	again, err := newStashMetrics(reg)
	g.Expect(err).NotTo(HaveOccurred(), "a second reconciler of the process")
	g.Expect(again.moved).To(BeIdenticalTo(m.moved))

	const crd = "widgets.example.com"
	busy := string(embeddedcopies.Busy)
	value := func(name, reason string) float64 {
		families, err := reg.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				labels := metric.GetLabel()
				if family.GetName() == name && (reason == "" || labels[len(labels)-1].GetValue() == reason) {
					return metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
				}
			}
		}
		return -1
	}
	left := func(reason string) float64 { return value("moult_stashes_left", reason) }
	known := func() float64 { return value("moult_stashes_known", "") }
	m.looked(crd, finding{Report: repairs.Report{Moved: 2, Left: []repairs.Group{{Reason: embeddedcopies.Busy, Count: 3}}}})
	g.Expect([]float64{left(busy), left(string(repairs.Refused)), known()}).To(Equal([]float64{3, 0, 1}))
	m.looked(crd, finding{Report: repairs.Report{Moved: 1}, err: context.Canceled})
	g.Expect([]float64{left(busy), known()}).To(Equal([]float64{3, 1}), "a look that was stopped says nothing")
	m.looked(crd, finding{Report: repairs.Report{Moved: 1}, err: errors.New("no answer")})
	g.Expect([]float64{left(busy), known()}).To(Equal([]float64{3, 0}), "a look that failed says that nothing is known")
	m.looked(crd, finding{})
	g.Expect([]float64{left(busy), known(), value("moult_stashes_moved_total", "")}).To(Equal([]float64{0, 1, 4}))
	m.forget(crd)
	g.Expect([]float64{left(busy), known()}).To(Equal([]float64{-1, -1}))
}
