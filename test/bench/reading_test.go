package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestMetricsAreReadByGroup(t *testing.T) {
	g := NewWithT(t)
	r := parseMetrics([]byte(`# HELP apiserver_request_total Counter of apiserver requests
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="a.example.com",resource="widgets",scope="resource",subresource="",verb="PATCH",version="v1"} 400
apiserver_request_total{code="200",component="apiserver",dry_run="",group="a.example.com",resource="widgets",scope="cluster",subresource="",verb="LIST",version="v1"} 2
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="namespaces",scope="cluster",subresource="",verb="LIST",version="v1"} 7
apiserver_request_total_other{group="a.example.com"} 1000
process_cpu_seconds_total 12.5
process_resident_memory_bytes 1.048576e+09
`))
	g.Expect(r.requests).To(Equal(map[string]float64{"a.example.com": 402, "": 7}))
	g.Expect(r.serverCPU).To(Equal(12.5))
	g.Expect(r.serverRSS).To(Equal(float64(1000 << 20)))
}

func TestUsageIsReadFromProc(t *testing.T) {
	g := NewWithT(t)
	g.Expect(cpuTime("42 (an odd) name) S 1 42 42 0 -1 4194560 9 0 0 0 150 25 0 0 20 0 9 0 1")).To(Equal(1750 * time.Millisecond))
	g.Expect(cpuTime("")).To(BeZero(), "a process that is gone")
	const status = "Name:\tmoult\nVmHWM:\t   46080 kB\nVmRSS:\t   40960 kB\n"
	g.Expect(kibibytes(status, "VmHWM:")).To(Equal(int64(45 << 20)))
	g.Expect(kibibytes(status, "VmRSS:")).To(Equal(int64(40 << 20)))
	g.Expect(kibibytes("", "VmRSS:")).To(BeZero())
}
