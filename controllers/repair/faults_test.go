package repair_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/policies/survivors"
)

// looking is as in cmd/moult-controller.
type looking struct {
	cluster *inspect.Cluster
	places  []survivors.Place
}

func (l looking) Look(ctx context.Context, targets []survivors.Target) (survivors.Report, error) {
	return l.cluster.Survivors(ctx, inspect.SurvivorSearch{Places: l.places, Targets: targets, Most: 5})
}

// between is asked before each write of a copy, or of what names one; it sends it, mostly.
type between func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error)

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// through is a configuration whose writes go through somebody's hands.
func through(hands between) *rest.Config {
	config := rest.CopyConfig(cp.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			send := func() (*http.Response, error) { return next.RoundTrip(req) }
			if req.Method == http.MethodGet || req.URL.Query().Has("dryRun") || !strings.Contains(req.URL.Path, "/"+revisions.Resource) && !strings.Contains(req.URL.Path, "/"+vms.Resource) {
				return send()
			}
			return hands(req, send)
		})
	})
	return config
}

// mortal is a process that is killed at its n-th write of one sort for a VirtualMachine: that is not sent, or it is and the answer
// is lost.
type mortal struct {
	vm   string
	at   sort
	sent bool

	mu   sync.Mutex
	seen int
	dead chan struct{}
}

// sort is what a write does. How many a look makes depends on when the CRD has settled, so a number among all of them says little.
type sort struct {
	method string
	object schema.GroupVersionResource
	n      int
}

func (m *mortal) write(req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if isClosed(m.dead) {
		return nil, http.ErrServerClosed
	}
	if req.Method == m.at.method && strings.Contains(req.URL.Path, "/"+m.at.object.Resource) && m.concerns(req) {
		m.seen++
	}
	if m.seen < m.at.n {
		return send()
	}
	if m.sent {
		if answer, err := send(); err == nil {
			_ = answer.Body.Close()
		}
	}
	close(m.dead)
	return nil, http.ErrServerClosed
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// concerns reports whether a request names the VirtualMachine, or what is called after it.
func (m *mortal) concerns(req *http.Request) bool {
	if strings.Contains(req.URL.Path, m.vm) || req.GetBody == nil {
		return strings.Contains(req.URL.Path, m.vm)
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	content, _ := io.ReadAll(body)
	return strings.Contains(string(content), m.vm)
}
