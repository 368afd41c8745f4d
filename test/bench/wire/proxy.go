// Package wire is a loopback TCP proxy that makes a server look further away: every byte arrives half a round-trip
// time after it was sent, in both directions, however many are under way. It adds delay, not a limit on bandwidth, so
// a client that sends many requests at once waits no longer than one that sends a single one. It also counts the
// bytes, which for a TLS connection are those on the wire, handshakes included.
package wire

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// chunk is the most that is read at a time.
	chunk = 32 << 10
	// underWay bounds the chunks of one direction of a connection that are on their way, and so the memory: 64 MiB of
	// full ones, which a loopback connection at 20 ms does not reach.
	underWay = 2048
)

// Proxy forwards connections until it is closed. Its methods may be called concurrently.
type Proxy struct {
	target   string
	oneWay   time.Duration
	listener net.Listener

	up, down atomic.Int64

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{}
	all    sync.WaitGroup
}

// Start listens on a free port of 127.0.0.1 and forwards to the target, host:port, with this extra round-trip time.
func Start(target string, roundTrip time.Duration) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", target, err)
	}
	p := &Proxy{target: target, oneWay: roundTrip / 2, listener: listener, open: map[net.Conn]struct{}{}}
	p.all.Go(p.accept)
	return p, nil
}

// Addr is where it listens, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Bytes are those passed on so far, to the target and back to the clients.
func (p *Proxy) Bytes() (up, down int64) { return p.up.Load(), p.down.Load() }

// Close cuts all connections and returns when nothing is left of them.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for connection := range p.open {
		_ = connection.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil || !p.keep(client, server) {
			_ = client.Close()
			continue
		}
		p.all.Go(func() { p.forward(server, client, &p.up) })
		p.all.Go(func() { p.forward(client, server, &p.down) })
	}
}

// keep remembers a pair of connections for Close; it is false, and the server's is closed, when it is too late for that.
func (p *Proxy) keep(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = server.Close()
		return false
	}
	p.open[client], p.open[server] = struct{}{}, struct{}{}
	return true
}

// parcel is what was read at once, and when it is to arrive.
type parcel struct {
	content []byte
	due     time.Time
}

// forward carries one direction and then cuts both: HTTP has no use for half a connection.
func (p *Proxy) forward(to, from net.Conn, count *atomic.Int64) {
	road := make(chan parcel, underWay)
	p.all.Go(func() {
		defer close(road)
		buffer := make([]byte, chunk)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				road <- parcel{bytes.Clone(buffer[:n]), time.Now().Add(p.oneWay)}
			}
			if err != nil {
				return
			}
		}
	})
	deliver(to, road, p.oneWay > 0, count)
	p.drop(to)
	p.drop(from)
	for range road { // the reader ends at its next read, and must not wait for us until then
	}
}

func deliver(to io.Writer, road <-chan parcel, delayed bool, count *atomic.Int64) {
	for next := range road {
		if delayed {
			time.Sleep(time.Until(next.due))
		}
		count.Add(int64(len(next.content))) // before anybody can have read them
		if _, err := to.Write(next.content); err != nil {
			return
		}
	}
}

func (p *Proxy) drop(connection net.Conn) {
	p.mu.Lock()
	delete(p.open, connection)
	p.mu.Unlock()
	_ = connection.Close()
}
