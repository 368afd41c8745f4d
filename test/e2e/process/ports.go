package process

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// FreePorts picks n different TCP ports that nobody listens on at the moment. Another process may take one before the
// server does: then the server ends, and Await says so.
func FreePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close() //nolint:gocritic // each stays open until all ports are picked, so that none is picked twice
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// Loopback is the address of a port on this machine.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// Listening reports whether the address accepts a connection; made for Await.
func Listening(address string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		dialer := net.Dialer{Timeout: time.Second}
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return false
		}
		connection.Close()
		return true
	}
}

// Answering reports whether a GET of the URL answers 200; made for Await.
func Answering(url string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return false
		}
		request.Close = true // a kept connection would look like a leak at the end of the test
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
}
