package stage

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// road is the way from Moult to the API server: a proxy on which writes of widgets can be slowed.
type road struct {
	server *httptest.Server
	proxy  *httputil.ReverseProxy

	mu      sync.Mutex
	delay   time.Duration
	changed chan struct{} // closed when the delay changes
}

// slowed are the objects that Moult rewrites in the stories.
var slowed = regexp.MustCompile(`^/apis/(example\.com|cert-manager\.io|external-secrets\.io)/`)

// serviceAccount is Moult's, as it is installed: policies know it by that name.
const serviceAccount = "system:serviceaccount:moult-system:moult-controller"

// newRoad leads to the API server under Moult's name and with all rights; who comes along it needs none. That the rights
// of the ServiceAccount are enough is shown in test/install.
func newRoad(config *rest.Config) (*road, error) {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: serviceAccount, Groups: []string{"system:masters"}}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	r := &road{changed: make(chan struct{})}
	r.proxy = &httputil.ReverseProxy{
		Rewrite:       func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusBadGateway) // without a line in the log: Moult ends in the middle of requests
		},
	}
	r.server = httptest.NewServer(r)
	return r, nil
}

func (r *road) url() string { return r.server.URL }

// close cuts watches off.
func (r *road) close() {
	r.slow(0)
	r.server.CloseClientConnections()
	r.server.Close()
}

func (r *road) slow(delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay = delay
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *road) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodPatch && slowed.MatchString(request.URL.Path) {
		r.wait(request)
	}
	r.proxy.ServeHTTP(w, request)
}

// wait lets the delay pass since the request came, as long or short as the delay may become meanwhile.
func (r *road) wait(request *http.Request) {
	came := time.Now()
	for {
		r.mu.Lock()
		left, changed := r.delay-time.Since(came), r.changed
		r.mu.Unlock()
		if left <= 0 {
			return
		}
		select {
		case <-time.After(left):
		case <-changed:
		case <-request.Context().Done():
			return
		}
	}
}
