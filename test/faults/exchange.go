package faults

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"
)

// Fault is what becomes of a request.
type Fault func(*Exchange)

// Exchange is one request under way.
type Exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	next   http.Handler
	closed <-chan struct{}
}

// Pass passes the request on, and the answer back.
func (e *Exchange) Pass() { e.next.ServeHTTP(e.w, e.r) }

// answer is what an API server said.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// ask passes the request on and keeps the answer. A watch has none that ends, so it gets one without an event.
func (e *Exchange) ask() answer {
	if parse(e.r).Verb == "watch" {
		return answer{code: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}}
	}
	kept := httptest.NewRecorder()
	e.next.ServeHTTP(kept, e.r)
	return answer{code: kept.Code, header: kept.Header(), body: kept.Body.Bytes()}
}

// give answers the request.
func (e *Exchange) give(a answer) {
	for name, values := range a.header {
		e.w.Header()[name] = values
	}
	e.w.WriteHeader(a.code)
	_, _ = e.w.Write(a.body)
}

// swallow reads the request, as a server that takes it does.
func (e *Exchange) swallow() { _, _ = io.Copy(io.Discard, e.r.Body) }

// hang waits until the client has had enough, or the time is over.
func (e *Exchange) hang(most time.Duration) {
	select {
	case <-e.r.Context().Done():
	case <-e.closed:
	case <-time.After(most):
	}
}

// reset sends these bytes and ends the connection with a TCP reset.
func (e *Exchange) reset(last []byte) {
	conn, _, err := http.NewResponseController(e.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = conn.Write(last)
	if secure, ok := conn.(*tls.Conn); ok {
		secure.NetConn().(*wireConn).reset()
	}
	_ = conn.Close()
}

// half is an answer up to the middle of its body, as it goes over the wire.
func (a answer) half() []byte {
	var wire bytes.Buffer
	header := a.header.Clone()
	header.Set("Content-Length", fmt.Sprint(len(a.body)))
	header.Del("Transfer-Encoding")
	fmt.Fprintf(&wire, "HTTP/1.1 %d %s\r\n", a.code, http.StatusText(a.code))
	_ = header.Write(&wire)
	wire.WriteString("\r\n")
	wire.Write(a.body[:len(a.body)/2])
	return wire.Bytes()
}
