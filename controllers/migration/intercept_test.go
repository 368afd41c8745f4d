package migration_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/controllers/migration"
)

// interceptor sees every request of a client before the API server does.
type interceptor func(req *http.Request, next http.RoundTripper) (*http.Response, error)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// intercepted is a way to the API server with an interceptor on it.
func intercepted(cfg *rest.Config, i interceptor) *rest.Config {
	c := rest.CopyConfig(cfg)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return i(req, next) })
	})
	return c
}

// isObjectWrite reports whether a request is a write to one of the world's objects.
func (w *world) isObjectWrite(req *http.Request) bool {
	return req.Method == http.MethodPatch && strings.HasPrefix(req.URL.Path, "/apis/"+w.GR.Group+"/") && req.URL.Query().Get("dryRun") == ""
}

// isList reports whether a request is a list of the world's objects.
func (w *world) isList(req *http.Request) bool {
	return req.Method == http.MethodGet && strings.HasPrefix(req.URL.Path, "/apis/"+w.GR.Group+"/") && strings.HasSuffix(req.URL.Path, "/"+w.GR.Resource)
}

// valve lets so many requests of a kind through and holds the others until it is
// opened, so that a test can act in mid-pass, however slow the machine is.
type valve struct {
	holds  func(*http.Request) bool
	held   atomic.Int64
	gaveUp atomic.Int64 // of those that were held
	opened chan struct{}
	open   func() // lets all through from now on

	mu   sync.Mutex
	left int
}

func (w *world) valve(through int, holds func(*http.Request) bool) *valve {
	v := &valve{holds: holds, left: through, opened: make(chan struct{})}
	v.open = sync.OnceFunc(func() { close(v.opened) })
	w.t.Cleanup(v.open)
	return v
}

func (v *valve) intercept(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	if !v.holds(req) {
		return next.RoundTrip(req)
	}
	if !v.take(1) {
		v.held.Add(1)
		select {
		case <-v.opened:
		case <-req.Context().Done():
			v.gaveUp.Add(1)
			return nil, req.Context().Err()
		}
	}
	answer, err := next.RoundTrip(req)
	if err != nil || answer.StatusCode >= http.StatusMultipleChoices {
		v.take(-1) // it will be asked again
	}
	return answer, err
}

// take reports whether there is one left, and takes it.
func (v *valve) take(n int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.left < n {
		return false
	}
	v.left -= n
	return true
}

// midPass runs a controller that has made so many writes to objects, and whose
// next ones are held.
func (w *world) midPass(writes int, opts migration.Options) (v *valve, stop func()) {
	w.t.Helper()
	v = w.valve(writes, w.isObjectWrite)
	stop = w.controllerAt(intercepted(cp.Config, v.intercept), opts)
	w.Eventually(v.held.Load, soon, "10ms").Should(BeNumerically(">", 0))
	return v, stop
}

// eventuallyGivenUp waits until no request is held any more, although the valve is not open: the pass has stopped.
func (w *world) eventuallyGivenUp(v *valve) {
	w.t.Helper()
	w.Eventually(func() bool { return v.gaveUp.Load() == v.held.Load() }, soon).Should(BeTrue(), "the pass stops")
}

// countLists counts the lists that are asked for.
func (w *world) countLists(lists *atomic.Int64) interceptor {
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isList(req) {
			lists.Add(1)
		}
		return next.RoundTrip(req)
	}
}

// refuse answers in the API server's stead.
func refuse(req *http.Request, code int, reason, message, continueToken string, header http.Header) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{"continue":%q},"status":"Failure","message":%q,"reason":%q,"code":%d}`,
		continueToken, message, reason, code)
	return respond(req, code, "application/json", body, header)
}

func respond(req *http.Request, code int, kind, body string, header http.Header) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", kind)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewBufferString(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// inconsistent turns a continue token into the one that an API server hands out
// in the answer 410: the same place, at whatever resourceVersion is newest.
func inconsistent(token string) string {
	raw, _ := base64.RawURLEncoding.DecodeString(token)
	fields := map[string]any{}
	_ = json.Unmarshal(raw, &fields)
	fields["rv"] = -1
	raw, _ = json.Marshal(fields)
	return base64.RawURLEncoding.EncodeToString(raw)
}
