package removal_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
)

// A load balancer before the API servers does not find the way to one, and answers 404 itself. That is no word of whether there is a CRD.
func TestAProxyThatFindsNothingOpensNoGate(t *testing.T) {
	t.Parallel()
	g := flipped(t, 5)
	g.Ask()
	lost, answered := &atomic.Bool{}, &atomic.Int64{}
	lost.Store(true)
	g.moultAt(via(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !lost.Load() || !strings.HasSuffix(req.URL.Path, "/customresourcedefinitions/widgets."+g.GR.Group) {
			return next.RoundTrip(req)
		}
		answered.Add(1)
		answer := httptest.NewRecorder()
		http.Error(answer, "default backend - 404", http.StatusNotFound)
		return answer.Result(), nil
	}))
	g.Eventually(answered.Load, soon).Should(BeNumerically(">", 4), "it is asked again")
	g.Expect(g.Verdict()).NotTo(HavePrefix("True"))
	lost.Store(false)
	g.eventually("True SafeToRemove")
	g.Expect(g.Stored()).To(Equal(map[string]int{"v1": 5}))
}
