package inspect

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/policies/snapshot"
)

const failure = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"fault","reason":%q,"code":%d,"metadata":{"continue":%q}}`

// failing answers the nth of the requests that match, and so many after it, with a Status.
func failing(match func(*http.Request) bool, nth, times int64, reason string, code int, token string) *rest.Config {
	var seen atomic.Int64
	return intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !match(req) {
			return next.RoundTrip(req)
		}
		if n := seen.Add(1); n < nth || n >= nth+times {
			return next.RoundTrip(req)
		}
		if token != "" {
			token = req.URL.Query().Get("continue")
		}
		return &http.Response{
			StatusCode: code, Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"0"}},
			Body:   io.NopCloser(bytes.NewBufferString(fmt.Sprintf(failure, reason, code, token))),
		}, nil
	})
}

func TestFaultsOfTheAPIServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.widgets().OptedIn(), 30)
	for name, c := range map[string]struct {
		cfg   *rest.Config
		known bool
	}{
		"a list expires and says how to go on":  {failing(w.isObjects, 3, 1, "Expired", 410, "a token"), true},
		"a list expires and has to start anew":  {failing(w.isObjects, 3, 1, "Expired", 410, ""), true},
		"the API server is busy for a while":    {failing(w.isObjects, 2, 2, "TooManyRequests", 429, ""), true},
		"the API server is busy for too long":   {failing(w.isObjects, 2, 1000, "TooManyRequests", 429, ""), false},
		"a list that always expires":            {failing(w.isObjects, 1, 1000, "Expired", 410, ""), false},
		"an error at the storage version alone": {failing(w.isObjects, 1, 1, "InternalError", 500, ""), true},
		"an error at every version":             {failing(w.isObjects, 2, 1000, "InternalError", 500, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			taken := w.take(c.cfg, func(o *Options) { o.Clock = hasty{} })
			if !c.known {
				g.Expect(taken.CRDs[0].Objects).To(BeNil())
				g.Expect(taken.NotRead).To(ConsistOf(And(HaveField("What", snapshot.ObjectsOfCRD), HaveField("CRD", w.GR.String()), HaveField("Why", ContainSubstring("fault")), HaveField("Rule", BeNil()))))
				return
			}
			g.Expect(taken.NotRead).To(BeEmpty())
			g.Expect(*taken.CRDs[0].Objects).To(And(HaveField("Count", int64(30)), HaveField("Writers", HaveLen(0))))
		})
	}
}

// oneByOne makes lists of CRDs come in pages of one.
func oneByOne(cfg *rest.Config) *rest.Config {
	return intercepted(cfg, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !isCRDs(req) {
			return next.RoundTrip(req)
		}
		req = req.Clone(req.Context())
		query := req.URL.Query()
		query.Set("limit", "1")
		req.URL.RawQuery = query.Encode()
		return next.RoundTrip(req)
	})
}

func isCRDs(req *http.Request) bool {
	return strings.HasSuffix(req.URL.Path, "/customresourcedefinitions")
}

func TestAListOfCRDsThatBreaksOffLeavesTheRestUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.widgets(), 0)
	all := func(o *Options) { o.CRDs, o.Clock = nil, hasty{} }
	for name, c := range map[string]struct {
		cfg  *rest.Config
		rule bool
	}{
		"by an error":            {failing(isCRDs, 2, 1000, "InternalError", 500, ""), false},
		"by a right that ends":   {failing(isCRDs, 2, 1000, "Forbidden", 403, ""), true},
		"because it has expired": {failing(isCRDs, 2, 1000, "Expired", 410, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			taken := w.take(oneByOne(c.cfg), all)
			g.Expect(taken.CRDs).To(Or(HaveLen(1), BeEmpty()))
			g.Expect(whats(taken)).To(ContainElement(snapshot.CRDs))
			for _, n := range taken.NotRead {
				g.Expect(n.Rule != nil).To(Equal(c.rule && n.What == snapshot.CRDs), n.Why)
			}
			a := taken.Judge(snapshot.Ask{CRD: "absent." + w.GR.Group, Versions: []string{"v1alpha1"}}, now)
			g.Expect(a.Known).To(BeFalse())
		})
	}
	t.Run("and goes on after it has expired once, with no CRD twice", func(t *testing.T) {
		g := NewWithT(t)
		taken := w.take(oneByOne(failing(isCRDs, 2, 1, "Expired", 410, "")), all)
		g.Expect(taken.CRDs).To(ContainElement(HaveField("Name", w.GR.String())))
		for _, n := range taken.NotRead { // other tests remove their CRDs meanwhile
			g.Expect(n.CRD).NotTo(Or(BeEmpty(), Equal(w.GR.String())), n.Why)
		}
	})
}

func TestAClusterThatDoesNotAnswerIsAnError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	away := rest.CopyConfig(cp.Config)
	away.Host = "https://127.0.0.1:1"
	_, err := Take(t.Context(), away, Options{})
	g.Expect(err).To(HaveOccurred())

	stranger := rest.AnonymousClientConfig(cp.Config)
	stranger.BearerToken = "not one"
	_, err = Take(t.Context(), stranger, Options{})
	g.Expect(err).To(HaveOccurred())

	for _, path := range []string{"/version", "/customresourcedefinitions", "/versionremovals", "/metrics"} {
		over, end := context.WithCancel(t.Context())
		_, err = Take(over, intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
			if strings.HasSuffix(req.URL.Path, path) {
				end()
			}
			return next.RoundTrip(req)
		}), Options{NoObjects: true})
		g.Expect(err).To(MatchError(context.Canceled), "interrupted at %s", path)
	}
}

// proxied is the API server behind a proxy that answers by itself about CRDs.
func proxied(status int, contentType, body string) *rest.Config {
	return intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !strings.Contains(req.URL.Path, "/customresourcedefinitions") {
			return next.RoundTrip(req)
		}
		answer := httptest.NewRecorder()
		answer.Header().Set("Content-Type", contentType)
		answer.WriteHeader(status)
		_, _ = answer.WriteString(body)
		return answer.Result(), nil
	})
}

// A load balancer before the API servers answers 404 itself. That is no word of whether there is a CRD.
func TestAProxyThatFindsNothingHidesNoCRD(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lost := proxied(http.StatusNotFound, "text/plain; charset=utf-8", "default backend - 404")
	_, err := Take(t.Context(), lost, Options{NoObjects: true, CRDs: []string{"widgets.example.com"}})
	g.Expect(err).To(MatchError(ContainSubstring("a proxy before the API server answered 404")))

	taken, err := Take(t.Context(), cp.Config, Options{NoObjects: true, CRDs: []string{"widgets.example.com"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(taken.Lacks("widgets.example.com")).To(BeTrue(), "the API server's own answer counts")
}

func TestAnEmptyAnswerHidesNoCRD(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	empty := proxied(http.StatusOK, "application/json", "{}")
	for _, named := range [][]string{nil, {"widgets.example.com"}} {
		taken, err := Take(t.Context(), empty, Options{NoObjects: true, CRDs: named})
		if err == nil {
			g.Expect(taken.Lacks("widgets.example.com")).To(BeFalse(), "%v", named)
		}
	}
}
