package install

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Request is one that the controller made, and how it was answered.
type Request struct {
	Method, Path string
	Code         int
	// Lane is the UID of the PriorityLevelConfiguration that the API server served it in.
	Lane string
	// Agent is what its sender calls itself.
	Agent string
}

// Is reports whether the request has a method, or any if it is empty, and a path with this part in it.
func (r Request) Is(method, part string) bool {
	return (method == "" || r.Method == method) && strings.Contains(r.Path, part)
}

// Road leads to an API server. It adds no credentials and remembers every answer.
type Road struct {
	server *httptest.Server

	mu   sync.Mutex
	seen []Request
}

// NewRoad leads to the API server of config, which may be anybody's, through what is around the transport.
func NewRoad(config *rest.Config, around ...func(http.RoundTripper) http.RoundTripper) (*Road, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, err
	}
	for _, wrap := range around {
		transport = wrap(transport)
	}
	r := &Road{}
	r.server = httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ModifyResponse: func(answer *http.Response) error {
			r.note(Request{
				Method: answer.Request.Method, Path: answer.Request.URL.Path, Code: answer.StatusCode,
				Lane: answer.Header.Get("X-Kubernetes-Pf-Prioritylevel-Uid"), Agent: answer.Request.UserAgent(),
			})
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	r.server.EnableHTTP2 = true
	r.server.StartTLS() // a kubeconfig's token is not sent in the clear
	return r, nil
}

// Cluster is what a kubeconfig says of the server.
func (r *Road) Cluster() *clientcmdapi.Cluster {
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	return &clientcmdapi.Cluster{Server: r.server.URL, CertificateAuthorityData: certificate}
}

// Close ends all requests under way.
func (r *Road) Close() {
	r.server.CloseClientConnections()
	r.server.Close()
}

func (r *Road) note(request Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, request)
}

// Seen are the requests so far that match, in the order of their answers.
func (r *Road) Seen(match func(Request) bool) (found []Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range slices.Clone(r.seen) {
		if match(request) {
			found = append(found, request)
		}
	}
	return found
}
