package faults

import (
	"encoding/pem"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Proxy is an HTTPS server on loopback in front of one API server or several, into which faults are put. Whoever talks
// to it needs no credentials: it has those of the configuration it was given. It speaks HTTP/1.1, one request per
// connection at a time, so that a fault hits the request it is meant for and no other.
type Proxy struct {
	server *httptest.Server
	wire   *wire

	mu      sync.Mutex
	targets []http.Handler
	turn    int // of the target that is asked next
	rules   []*Injected
	random  *rand.Rand
	written map[string]time.Time // path of an object → when its last accepted write arrived
	busy    sync.WaitGroup
	closed  chan struct{}
}

// NewProxy starts a proxy in front of the API server that the configuration reaches. The seed decides which requests a
// rule with a probability hits: the same requests in the same order meet the same faults. The caller must Close it.
func NewProxy(to *rest.Config, seed uint64) (*Proxy, error) {
	p := &Proxy{random: rand.New(rand.NewPCG(seed, 0)), written: map[string]time.Time{}, closed: make(chan struct{})}
	if err := p.Target(to); err != nil {
		return nil, err
	}
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that broke, as they should
	p.wire = &wire{Listener: p.server.Listener, open: map[*wireConn]bool{}}
	p.server.Listener = p.wire
	p.server.StartTLS()
	return p, nil
}

// Target has the proxy ask these API servers in turn from now on, as a load balancer does.
func (p *Proxy) Target(servers ...*rest.Config) error {
	var targets []http.Handler
	for _, cfg := range servers {
		transport, err := rest.TransportFor(cfg)
		if err != nil {
			return err
		}
		to, err := url.Parse(cfg.Host)
		if err != nil {
			return err
		}
		targets = append(targets, &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
			Transport:     transport,
			FlushInterval: -1, // watches are streams
			ErrorLog:      log.New(io.Discard, "", 0),
			// A server that is not there answers nothing, so neither does the proxy.
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.targets = targets
	return nil
}

// Config reaches the proxy, without any client-side rate limit.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{Host: p.server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: p.certificate()}, QPS: -1, WarningHandler: rest.NoWarnings{}}
}

// KubeConfig is a kubeconfig for the proxy, to be written to a file for a process.
func (p *Proxy) KubeConfig() ([]byte, error) {
	const name = "faults"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: p.server.URL, CertificateAuthorityData: p.certificate()}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	return clientcmd.Write(*file)
}

func (p *Proxy) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
}

// Inject puts a fault in. The rule that was put in last is asked first, and the first that hits a request decides what
// becomes of it.
func (p *Proxy) Inject(rule Rule) *Injected {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := &Injected{Rule: rule, proxy: p}
	p.rules = slices.Insert(p.rules, 0, i)
	return i
}

// Heal takes every fault out and lets the port speak TLS again.
func (p *Proxy) Heal() {
	p.mu.Lock()
	p.rules = nil
	p.mu.Unlock()
	p.wire.babble(false)
}

// Cut resets every connection there is, with all requests under way. New ones are accepted.
func (p *Proxy) Cut() { p.wire.cut() }

// Babble has the port answer every connection with something that is not TLS, until Heal, and cuts those there are.
func (p *Proxy) Babble() {
	p.wire.babble(true)
	p.wire.cut()
}

// Written is when the last write to an object arrived that was accepted and whose acceptance was passed on; the zero
// time if there was none. The path is that of the object, as in /apis/example.com/v1/namespaces/default/widgets/one,
// and writes to its subresources count as well.
func (p *Proxy) Written(path string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written[path]
}

// Close breaks off what is under way and ends the proxy.
func (p *Proxy) Close() {
	close(p.closed)
	p.wire.babble(false)
	p.wire.cut()
	p.server.CloseClientConnections()
	p.server.Close()
	p.busy.Wait()
}

// ServeHTTP passes a request on, or meets it with the fault that hits it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.busy.Add(1)
	defer p.busy.Done()
	request := parse(r)
	if request.Verb == "patch" && request.Name != "" {
		w = &noting{ResponseWriter: w, accepted: p.noteWrite(request, time.Now())}
	}
	rule, target := p.decide(request)
	if rule == nil {
		target.ServeHTTP(w, r)
		return
	}
	rule.Fault(&Exchange{w: w, r: r, next: target, closed: p.closed})
}

func (p *Proxy) decide(r Request) (*Injected, http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	target := p.targets[p.turn%len(p.targets)]
	p.turn++
	for _, rule := range p.rules {
		if rule.hits(r, p.random) {
			return rule, target
		}
	}
	return nil, target
}

func (p *Proxy) noteWrite(r Request, arrived time.Time) func() {
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.written[r.objectPath] = arrived
	}
}

// noting tells of an answer that accepts the request, just before the client hears of it.
type noting struct {
	http.ResponseWriter
	accepted func()
}

func (n *noting) WriteHeader(code int) {
	if code/100 == 2 {
		n.accepted()
	}
	n.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }
