package network

import (
	"net/url"
	"regexp"
	"strings"
)

// likeSCP is git@host:path.
var likeSCP = regexp.MustCompile(`^(?:[^@/:]+@)?([^@/:]+):([^:]+)$`)

// Remote takes the address of a Git repository apart, without whatever credentials are in it. The host has its port, if the
// address has one. Both are empty for a path on this machine.
func Remote(address string) (host, path string) {
	if found := likeSCP.FindStringSubmatch(address); found != nil && !strings.Contains(address, "://") {
		host, path = found[1], found[2]
	} else if parsed, err := url.Parse(address); err == nil && parsed.Scheme != "" {
		host, path = parsed.Host, parsed.EscapedPath()
	}
	return host, strings.Trim(strings.TrimSuffix(strings.TrimSuffix(path, "/"), ".git"), "/")
}
