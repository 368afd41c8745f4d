package inspect

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/snapshot"
)

const metricsText = `# HELP apiserver_request_total Counter of apiserver requests.
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="example.com",resource="widgets",scope="cluster",subresource="",verb="LIST",version="v1alpha1"} 3
apiserver_request_total{code="404",component="apiserver",dry_run="",group="example.com",resource="widgets",scope="resource",subresource="",verb="GET",version="v1alpha1"} 2
apiserver_request_total{code="200",component="apiserver",dry_run="",group="example.com",resource="widgets",scope="resource",subresource="status",verb="GET",version="v1alpha1"} 1e+00
apiserver_request_total{code="200",component="apiserver",dry_run="",group="example.com",resource="widgets",scope="resource",subresource="",verb="GET",version="v1"} 0
apiserver_request_total{code="200",component="apiserver",dry_run="",group="another.com",resource="widgets",scope="resource",subresource="",verb="GET",version="v1alpha1"} 9
apiserver_request_total_of_something_else{group="example.com",resource="widgets",verb="GET",version="v1alpha1"} 9
apiserver_longrunning_requests{component="apiserver",group="example.com",resource="widgets",scope="cluster",subresource="",verb="WATCH",version="v1alpha1"} 2
apiserver_longrunning_requests{component="apiserver",group="example.com",resource="widgets",scope="cluster",subresource="",verb="CONNECT",version="v1"} 1
apiserver_requested_deprecated_apis{group="example.com",removed_release="",resource="widgets",subresource="",version="v1beta1"} 1
process_start_time_seconds 1.76732304e+09
`

func TestMetricsShowWhoStillAsks(t *testing.T) {
	g := NewWithT(t)
	k := &taker{Snapshot: &snapshot.Snapshot{CRDs: []snapshot.CRD{{Name: "gadgets.example.com"}, {Name: "widgets.example.com"}}}}
	g.Expect(k.readMetrics(strings.NewReader(metricsText))).To(Succeed())
	g.Expect(k.CRDs[0].Requests).To(BeEmpty())
	g.Expect(k.CRDs[1].Requests).To(Equal([]snapshot.Requests{
		{Version: "v1alpha1", Counts: map[string]int64{"LIST": 3, "GET": 3}, Watches: 2},
		{Version: "v1beta1", Deprecated: true, Counts: map[string]int64{}},
	}))
	since := time.Unix(1767323040, 0).UTC()
	g.Expect(k.Metrics).To(Equal(&snapshot.Metrics{Since: &since}))
}

func TestMetricsThatCannotBeReadToTheEndAreNotKnown(t *testing.T) {
	for name, text := range map[string]string{
		"a line that is cut":       metricsText[:len(metricsText)/2],
		"a line that is no metric": metricsText + "apiserver_request_total{group=example.com} 3\n",
		"a line that does not end": metricsText + strings.Repeat("x", maxLine+1),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			k := &taker{Snapshot: &snapshot.Snapshot{CRDs: []snapshot.CRD{{Name: "widgets.example.com"}}}}
			g.Expect(k.readMetrics(strings.NewReader(text))).NotTo(Succeed())
			g.Expect(k.Metrics).To(BeNil())
			g.Expect(k.CRDs[0].Requests).To(BeEmpty())
		})
	}
}
