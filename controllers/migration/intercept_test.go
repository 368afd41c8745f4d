package migration_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
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

// isObjectWrite tells a write to one of the world's objects.
func (w *world) isObjectWrite(req *http.Request) bool {
	return req.Method == http.MethodPatch && strings.HasPrefix(req.URL.Path, "/apis/"+w.gr.Group+"/")
}

// isList tells a list of the world's objects.
func (w *world) isList(req *http.Request) bool {
	return req.Method == http.MethodGet && strings.HasPrefix(req.URL.Path, "/apis/"+w.gr.Group+"/") && strings.HasSuffix(req.URL.Path, "/"+w.gr.Resource)
}

// slowWrites delays every write to an object, so that a test can act in
// mid-pass. The counter counts them.
func (w *world) slowWrites(delay time.Duration, count *atomic.Int64) interceptor {
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isObjectWrite(req) {
			count.Add(1)
			time.Sleep(delay)
		}
		return next.RoundTrip(req)
	}
}

// refuse answers in the API server's stead.
func refuse(req *http.Request, code int, reason, message, continueToken string, header http.Header) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{"continue":%q},"status":"Failure","message":%q,"reason":%q,"code":%d}`,
		continueToken, message, reason, code)
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "application/json")
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
