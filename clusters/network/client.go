package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Client asks the hosts that may be asked; its caller has to Allow the first of them. Where they lead to, and what they
// resolve to, is up to others: there it has to be HTTPS and a public address.
func (p *Policy) Client() *http.Client {
	return &http.Client{Transport: p.transport(), CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if len(via) >= 10 {
			return errors.New("it is led from one address to the next")
		}
		return p.AllowRedirect(to.URL)
	}}
}

// Guard is for a library that chooses addresses itself: it asks no host that may not be asked.
func (p *Policy) Guard() http.RoundTripper {
	return &guard{policy: p, next: p.transport()}
}

type guard struct {
	policy *Policy
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	err := g.policy.AllowOver(request.URL.Scheme, request.URL.Host)
	if request.Response != nil { // it was led here
		err = g.policy.AllowRedirect(request.URL)
	}
	if err != nil {
		return nil, err
	}
	return g.next.RoundTrip(request)
}

// AllowRedirect is nil for where an allowed host may lead to.
func (p *Policy) AllowRedirect(to *url.URL) error {
	if p != nil && to.Scheme != "https" && !p.knows(Plain+to.Host) {
		return &RefusedError{fmt.Sprintf("it is led to %s without HTTPS", to.Host)}
	}
	return nil
}

func (p *Policy) transport() *http.Transport {
	direct := &net.Dialer{Timeout: 10 * time.Second}
	public := &net.Dialer{Timeout: 10 * time.Second, Control: publicOnly}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 20 * time.Second,
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if p == nil || isKnown(p.known(), address) || isKnown(proxies(), address) {
				return direct.DialContext(ctx, network, address)
			}
			return public.DialContext(ctx, network, address)
		},
	}
}

// isKnown reports whether an address to dial is that of a host in a list.
func isKnown(hosts []string, address string) bool {
	name, port, err := net.SplitHostPort(address)
	return slices.Contains(hosts, address) || err == nil && (port == "443" || port == "80") && slices.Contains(hosts, name)
}

// proxies are the addresses of the proxies that the environment names.
func proxies() []string {
	var all []string
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		value := os.Getenv(name)
		if value != "" && !strings.Contains(value, "://") {
			value = "http://" + value
		}
		if proxy, err := url.Parse(value); err == nil && proxy.Host != "" {
			all = append(all, proxy.Host)
		}
	}
	return all
}

// publicOnly refuses addresses of this machine and its network, such as those where clouds keep credentials.
func publicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if ip := at.Addr().Unmap(); !ip.IsGlobalUnicast() || ip.IsPrivate() || shared.Contains(ip) {
		return errors.New("it is led to an address that is not public")
	}
	return nil
}

// shared is for carriers, and some clouds keep their metadata there.
// https://www.rfc-editor.org/rfc/rfc6598
var shared = netip.MustParsePrefix("100.64.0.0/10")
