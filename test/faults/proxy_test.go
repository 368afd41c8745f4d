package faults_test

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/faults"
)

// upstream stands for an API server and counts what reaches it.
type upstream struct {
	*httptest.Server
	asked atomic.Int64
}

const served = "0123456789"

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		u.asked.Add(1)
		_, _ = io.WriteString(w, served)
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) config() *rest.Config {
	return &rest.Config{Host: u.URL, TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: u.Certificate().Raw})}}
}

// caller is a client of a proxy.
type caller struct {
	*WithT
	t      *testing.T
	url    string
	client *http.Client
}

func newCaller(t *testing.T, p *faults.Proxy) caller {
	t.Helper()
	g := NewWithT(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(p.Config().CAData)
	client, err := rest.HTTPClientFor(p.Config())
	g.Expect(err).NotTo(HaveOccurred())
	return caller{WithT: g, t: t, url: p.Config().Host, client: client}
}

const aWidget = "/apis/example.com/v1/namespaces/default/widgets/one"

// call returns the status code, 0 if there was no answer, the body as far as it came, and what it met at the end.
func (c caller) call(method, path string) (code int, header http.Header, body string, err error) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader("{}"))
	c.Expect(err).NotTo(HaveOccurred())
	answer, err := c.client.Do(request)
	if err != nil {
		return 0, nil, "", err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, string(raw), err
}

func newProxy(t *testing.T, to ...*rest.Config) *faults.Proxy {
	t.Helper()
	p, err := faults.NewProxy(to[0], 1)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(p.Target(to...)).To(Succeed())
	t.Cleanup(p.Close)
	return p
}

func TestEachFaultDoesWhatItSays(t *testing.T) {
	const hold = 200 * time.Millisecond
	continued := "/apis/example.com/v1/widgets?limit=2&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6N30"
	for name, c := range map[string]struct {
		fault    faults.Fault
		path     string // default: a widget
		code     int    // 0: no answer
		body     string // what it contains
		broken   bool   // it does not end as it should
		atLeast  time.Duration
		upstream int64 // how many requests the API server sees
	}{
		"a dropped request":           {fault: faults.Drop(hold), broken: true, atLeast: hold},
		"a dropped answer":            {fault: faults.DropAnswer(hold), broken: true, atLeast: hold, upstream: 1},
		"a delay":                     {fault: faults.Delay(hold), code: 200, body: served, atLeast: hold, upstream: 1},
		"a reset":                     {fault: faults.Reset(), code: 200, body: served[:5], broken: true, upstream: 1},
		"a conflict":                  {fault: faults.Conflict(), code: 409, body: `"reason":"Conflict"`},
		"too many":                    {fault: faults.TooMany(7), code: 429, body: `"retryAfterSeconds":7`},
		"an internal error":           {fault: faults.InternalError(), code: 500, body: `"reason":"InternalError"`},
		"unavailable":                 {fault: faults.Unavailable(), code: 503, body: "no healthy upstream"},
		"expired, with a fresh token": {fault: faults.Expired(true), path: continued, code: 410, body: `"continue":"eyJydiI6LTEs`},
		"expired, without one":        {fault: faults.Expired(false), path: continued, code: 410, body: `"metadata":{},`},
		"expired, at the first page":  {fault: faults.Expired(true), path: "/apis/example.com/v1/widgets?limit=2", code: 200, body: served, upstream: 1},
		"something instead of it":     {fault: faults.InsteadOf(func() {}), broken: true},
		"something right after it":    {fault: faults.RightAfter(func() {}), broken: true, upstream: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t)
			p := newProxy(t, u.config())
			injected := p.Inject(faults.Rule{Fault: c.fault})
			g, path := newCaller(t, p), aWidget
			if c.path != "" {
				path = c.path
			}
			started := time.Now()
			code, _, body, err := g.call(http.MethodPatch, path)
			g.Expect(code).To(Equal(c.code), "%v", err)
			g.Expect(body).To(ContainSubstring(c.body))
			g.Expect(err != nil).To(Equal(c.broken), "%v", err)
			g.Expect(time.Since(started)).To(BeNumerically(">=", c.atLeast))
			g.Expect(u.asked.Load()).To(Equal(c.upstream))
			g.Expect(injected.Hits()).To(Equal(1))

			p.Heal()
			code, _, body, err = g.call(http.MethodPatch, path)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(code).To(Equal(200))
			g.Expect(body).To(Equal(served))
		})
	}
}

func TestARuleHitsWhatItNames(t *testing.T) {
	g := NewWithT(t)
	p := newProxy(t, newUpstream(t).config())
	call := newCaller(t, p)
	code := func(method, path string) int {
		code, _, _, err := call.call(method, path)
		g.Expect(err).NotTo(HaveOccurred())
		return code
	}
	rule := p.Inject(faults.Rule{Verbs: []string{"list"}, Path: widgetsList, After: 1, Times: 2, Fault: faults.Conflict()})
	list := "/apis/a.example.com/v1/widgets?limit=5"
	for _, other := range []string{aWidget, list + "&watch=true", "/apis/a.example.com/v1/gadgets?limit=5", "/readyz", "/api/v1/namespaces"} {
		g.Expect(code(http.MethodGet, other)).To(Equal(200), other)
	}
	for i, want := range []int{200, 409, 409, 200} {
		g.Expect(code(http.MethodGet, list)).To(Equal(want), "request %d", i)
	}
	g.Expect(rule.Hits()).To(Equal(2))

	p.Inject(faults.Rule{Fault: faults.InternalError()})
	later := p.Inject(faults.Rule{Fault: faults.Unavailable()})
	g.Expect(code(http.MethodGet, aWidget)).To(Equal(503), "the rule that came last decides")
	later.Heal()
	g.Expect(code(http.MethodGet, aWidget)).To(Equal(500))
}

func TestTheSeedDecidesWhatIsHit(t *testing.T) {
	g := NewWithT(t)
	hits := func(seed uint64) (pattern string) {
		p, err := faults.NewProxy(newUpstream(t).config(), seed)
		g.Expect(err).NotTo(HaveOccurred())
		defer p.Close()
		p.Inject(faults.Rule{Probability: 0.5, Fault: faults.Conflict()})
		call := newCaller(t, p)
		for range 40 {
			code, _, _, _ := call.call(http.MethodGet, aWidget)
			pattern += map[int]string{200: ".", 409: "x"}[code]
		}
		return pattern
	}
	g.Expect(hits(7)).To(And(Equal(hits(7)), ContainSubstring("x"), ContainSubstring("."), Not(Equal(hits(8)))))
}

func TestStaleListsAreTheFirstOnes(t *testing.T) {
	g := NewWithT(t)
	var count atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", int(count.Add(1))))
	}))
	t.Cleanup(server.Close)
	p := newProxy(t, (&upstream{Server: server}).config())
	p.Inject(faults.Rule{Verbs: []string{"list"}, Fault: faults.StaleLists()})
	for _, want := range []string{"x", "x", "x"} {
		_, _, body, err := newCaller(t, p).call(http.MethodGet, "/apis/example.com/v1/widgets?limit=2")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(body).To(Equal(want))
	}
	_, _, body, _ := newCaller(t, p).call(http.MethodGet, "/apis/example.com/v1/widgets?limit=2&continue=a")
	g.Expect(body).To(Equal("xx"), "another page")
}

func TestAPortThatBabblesIsNoTLS(t *testing.T) {
	p := newProxy(t, newUpstream(t).config())
	g := newCaller(t, p)
	p.Babble()
	_, _, _, err := g.call(http.MethodGet, aWidget)
	g.Expect(err).To(MatchError(ContainSubstring("first record does not look like a TLS handshake")))
	p.Heal()
	code, _, _, err := g.call(http.MethodGet, aWidget)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(code).To(Equal(200))
}

func TestACutBreaksWhatIsUnderWay(t *testing.T) {
	p := newProxy(t, newUpstream(t).config())
	g := newCaller(t, p)
	injected := p.Inject(faults.Rule{Fault: faults.Delay(time.Minute)})
	broken := make(chan error)
	go func() {
		_, _, _, err := g.call(http.MethodPatch, aWidget)
		broken <- err
	}()
	g.Eventually(injected.Hits).Should(Equal(1))
	p.Cut()
	g.Expect(<-broken).To(HaveOccurred())
}

func TestServersAreAskedInTurnAndOneThatIsAwayAnswersNothing(t *testing.T) {
	first, second := newUpstream(t), newUpstream(t)
	p := newProxy(t, first.config(), second.config())
	g := newCaller(t, p)
	for range 4 {
		_, _, _, err := g.call(http.MethodGet, aWidget)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect([]int64{first.asked.Load(), second.asked.Load()}).To(Equal([]int64{2, 2}))
	second.Close()
	g.Expect(p.Target(second.config())).To(Succeed())
	_, _, _, err := g.call(http.MethodPatch, aWidget)
	g.Expect(err).To(HaveOccurred(), "no 502 either")
}

// What the judge believes of proofs rests on this.
func TestAWriteCountsOnlyIfItsAcceptanceIsPassedOn(t *testing.T) {
	p := newProxy(t, newUpstream(t).config())
	g := newCaller(t, p)
	for name, fault := range map[string]faults.Fault{
		"refused": faults.Conflict(), "lost": faults.InsteadOf(func() {}), "its answer lost": faults.RightAfter(func() {}), "its answer broken": faults.Reset(),
	} {
		injected := p.Inject(faults.Rule{Fault: fault})
		_, _, _, _ = g.call(http.MethodPatch, aWidget)
		g.Expect(p.Written(aWidget)).To(BeZero(), name)
		injected.Heal()
	}
	_, _, _, _ = g.call(http.MethodGet, aWidget)
	g.Expect(p.Written(aWidget)).To(BeZero(), "only read")
	before := time.Now()
	_, _, _, _ = g.call(http.MethodPatch, aWidget+"/status")
	g.Expect(p.Written(aWidget)).To(BeTemporally(">=", before))
}

func TestAKubeConfigOfTheProxyNeedsNoCredentials(t *testing.T) {
	g := NewWithT(t)
	p := newProxy(t, newUpstream(t).config())
	content, err := p.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(And(ContainSubstring(p.Config().Host), Not(ContainSubstring("client-key"))))
}
