package removal_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
)

// A load balancer before the API servers does not find the way to one, and answers by itself. That is no word of whether there is a CRD.
func TestAProxyThatFindsNothingOpensNoGate(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]func(http.ResponseWriter){
		"404": func(w http.ResponseWriter) { http.Error(w, "default backend - 404", http.StatusNotFound) },
		"200 and an object with nothing in it": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{}"))
		},
	} {
		t.Run(name, func(t *testing.T) {
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
				says(answer)
				return answer.Result(), nil
			}))
			g.Eventually(answered.Load, soon).Should(BeNumerically(">", 4), "it is asked again")
			g.Expect(g.Verdict()).NotTo(HavePrefix("True"))
			lost.Store(false)
			g.eventually("True SafeToRemove")
			g.Expect(g.Stored()).To(Equal(map[string]int{"v1": 5}))
		})
	}
}
