package store

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

// allows tells whether a host may be asked, or what to do.
func (s *Store) allows(host string) error {
	if host == "" {
		return errors.New("its address names no host")
	}
	if s.options.Hosts == nil || slices.Contains(s.options.Hosts(), host) {
		return nil
	}
	return fmt.Errorf("the base does not use the host %s, and a pull request does not choose whom the preview asks; allow it with --allow-hosts %s", host, host)
}

// newClient asks the hosts that may be asked. Where they lead to, and what they resolve to, is up to others: there it has to
// be HTTPS and a public address.
func newClient(hosts func() []string) *http.Client {
	direct := &net.Dialer{Timeout: 10 * time.Second}
	public := &net.Dialer{Timeout: 10 * time.Second, Control: publicOnly}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 20 * time.Second,
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if hosts == nil || isKnown(hosts(), address) || isKnown(proxies(), address) {
				return direct.DialContext(ctx, network, address)
			}
			return public.DialContext(ctx, network, address)
		},
	}
	return &http.Client{Transport: transport, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= 10:
			return errors.New("it is led from one address to the next")
		case hosts != nil && to.URL.Scheme != "https" && !slices.Contains(hosts(), to.URL.Host):
			return fmt.Errorf("it is led to %s without HTTPS", to.URL.Host)
		}
		return nil
	}}
}

// isKnown tells whether an address to dial is that of a host in a list.
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
