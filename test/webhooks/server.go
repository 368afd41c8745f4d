// Package webhooks runs the two kinds of webhook that can get in the way of a migration, on loopback over TLS with a
// certificate authority of their own, and breaks them on command.
//
// Conversion converts a CRD's objects by changing their apiVersion; it can be down, slow, talk garbage or fail for one
// object. Admission rejects updates of named objects and counts the calls. Both start up and must be closed.
package webhooks

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// The ports lie below those that systems give to outgoing connections, which would otherwise take a port while its
// webhook is down.
const firstPort, ports = 20000, 10000

// server is an HTTPS server that can be taken down and brought back at the same address.
type server struct {
	authority authority
	handler   http.Handler
	address   string

	mu      sync.Mutex
	running *http.Server // nil while it is down
	done    chan struct{}
}

func startServer(handler http.Handler) (*server, error) {
	authority, err := newAuthority()
	if err != nil {
		return nil, fmt.Errorf("certificate for a webhook: %w", err)
	}
	s := &server{authority: authority, handler: handler}
	for range 20 {
		s.address = fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(ports))
		if err = s.Up(); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return s, err
}

// URL is the https address of the webhook.
func (s *server) URL() string { return "https://" + s.address + "/" }

// CABundle is the PEM certificate that the API server must trust.
func (s *server) CABundle() []byte { return s.authority.certificatePEM }

// Up listens again at the same address after Down. It fails if another process has taken the port meanwhile.
func (s *server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return nil
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("webhook cannot listen: %w", err)
	}

	running, done := &http.Server{Handler: s.handler, ErrorLog: silent}, make(chan struct{})
	s.running, s.done = running, done
	tlsListener := tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{s.authority.serving}, NextProtos: []string{"http/1.1"}})
	go func() {
		defer close(done)
		_ = running.Serve(tlsListener) // it always returns an error, here that of Close
	}()
	return nil
}

// Down closes the port and breaks off what is being answered: from now on connections are refused. A request that is sent at the
// same moment may still find a connection that was open before, and ends with it.
func (s *server) Down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return nil
	}
	err := s.running.Close()
	<-s.done
	s.running = nil
	if errors.Is(err, net.ErrClosed) { // it had closed by itself
		return nil
	}
	return err
}

// Close takes the webhook down for good.
func (s *server) Close() error { return s.Down() }
