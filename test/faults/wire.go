package faults

import (
	"net"
	"sync"
	"sync/atomic"
)

// wire is the listener below TLS. It knows its connections, so that they can be cut, and can speak nonsense.
type wire struct {
	net.Listener
	nonsense atomic.Bool

	mu   sync.Mutex
	open map[*wireConn]bool
}

// notTLS is what a port says that belongs to something else by now.
const notTLS = "SSH-2.0-OpenSSH_9.6\r\n"

// Accept waits for the next connection that is to be served.
func (w *wire) Accept() (net.Conn, error) {
	for {
		conn, err := w.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if w.nonsense.Load() {
			_, _ = conn.Write([]byte(notTLS))
			_ = conn.Close()
			continue
		}
		c := &wireConn{Conn: conn, wire: w}
		w.mu.Lock()
		w.open[c] = true
		w.mu.Unlock()
		return c, nil
	}
}

func (w *wire) babble(on bool) { w.nonsense.Store(on) }

func (w *wire) cut() {
	w.mu.Lock()
	conns := make([]*wireConn, 0, len(w.open))
	for c := range w.open {
		conns = append(conns, c)
	}
	w.mu.Unlock()
	for _, c := range conns {
		c.reset()
		_ = c.Close()
	}
}

type wireConn struct {
	net.Conn
	wire *wire
}

// reset has the coming Close send a TCP reset.
func (c *wireConn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// Close ends the connection.
func (c *wireConn) Close() error {
	c.wire.mu.Lock()
	delete(c.wire.open, c)
	c.wire.mu.Unlock()
	return c.Conn.Close()
}
