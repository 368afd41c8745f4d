// Package network decides whom a preview may ask for charts, remote bases and other repositories. The head of a pull request
// may be a stranger's, who must not choose whom a pipeline asks, nor who gets its credentials. A host that may be asked can
// lead to another one, as registries do for their blobs; that one has to be a public address and to speak HTTPS.
package network

import (
	"fmt"
	"slices"
	"sync"
)

// Policy says whom to ask. Nil is for everybody.
type Policy struct {
	offline bool
	hosts   func() []string
}

// Offline asks no host.
func Offline() *Policy { return &Policy{offline: true} }

// Only asks these hosts, with their ports if these are not the usual ones; without HTTPS those that are there a second time,
// with Plain before them. They are looked up when the first is needed.
func Only(hosts func() []string) *Policy { return &Policy{hosts: sync.OnceValue(hosts)} }

// RefusedError says why a host is not asked, and what to do.
type RefusedError struct{ reason string }

// Error implements error.
func (e *RefusedError) Error() string { return e.reason }

// Allow is nil for a host that may be asked, or a RefusedError.
func (p *Policy) Allow(host string) error {
	switch {
	case host == "":
		return &RefusedError{"its address names no host"}
	case p == nil:
		return nil
	case p.offline:
		return &RefusedError{fmt.Sprintf("nothing is fetched from %s with --offline", host)}
	case p.knows(host):
		return nil
	}
	return &RefusedError{fmt.Sprintf("the base does not use the host %s, and a pull request does not choose whom the preview asks; allow it with --allow-hosts %s", host, host)}
}

// knows reports whether a host was allowed by its name. Without a list, all are.
func (p *Policy) knows(host string) bool {
	return p == nil || slices.Contains(p.known(), host)
}

// known are the hosts that are allowed by their names.
func (p *Policy) known() []string {
	if p == nil || p.offline {
		return nil
	}
	return p.hosts()
}
