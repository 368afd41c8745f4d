package main

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moult-dev/moult/cmd/internal/start"
)

// registerBuild registers moult_build_info.
var registerBuild = sync.OnceFunc(func() {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_build_info",
		Help: "Always 1; the labels name the build of this controller."}, []string{"version", "commit", "date", "goversion"})
	b := start.Of()
	info.WithLabelValues(b.Version, b.Commit, b.Date, b.Go).Set(1)
	metrics.Registry.MustRegister(info)
})
