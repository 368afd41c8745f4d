package main

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moult-dev/moult/cmd/internal/start"
)

func TestTheMetricsNameTheBuild(t *testing.T) {
	g := NewWithT(t)
	registerBuild()
	registerBuild() // a second manager in one process
	families, err := metrics.Registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	labels := map[string]string{}
	for _, family := range families {
		if family.GetName() == "moult_build_info" {
			g.Expect(family.GetMetric()).To(HaveLen(1))
			for _, label := range family.GetMetric()[0].GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
		}
	}
	b := start.Of()
	g.Expect(labels).To(Equal(map[string]string{"version": b.Version, "commit": b.Commit, "date": b.Date, "goversion": b.Go}))
	g.Expect(b.Go).To(HavePrefix("go1."))
}
