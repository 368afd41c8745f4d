package network

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
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

// Git and Go read some addresses differently, and so find different hosts in them. These are read alike: nothing in them is
// escaped, a user is a name without a password, and there is no query and no fragment.
var (
	plainURL = regexp.MustCompile(`^(https?|ssh)://(?:[A-Za-z][A-Za-z0-9-]*@)?([A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]+)?)(?:/[A-Za-z0-9._~+@:/-]*)?$`)
	plainSCP = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9-]*@)?([A-Za-z0-9][A-Za-z0-9.-]*):[A-Za-z0-9._~+/-]+$`)
)

// AllowGit is nil for the address of a Git repository that may be asked, or a RefusedError.
func (p *Policy) AllowGit(address string) error {
	if p == nil {
		host, _ := Remote(address)
		return p.Allow(host)
	}
	scheme, host := "ssh", ""
	if found := plainURL.FindStringSubmatch(address); found != nil {
		scheme, host = found[1], found[2]
	} else if found := plainSCP.FindStringSubmatch(address); found != nil && !strings.Contains(address, "://") {
		host = found[1]
	}
	if host == "" {
		return &RefusedError{"its address is no plain one over HTTPS or SSH, so that Git may find another host in it"}
	}
	return p.AllowOver(scheme, host)
}

// AllowOver is Allow with a scheme: whom the base asks over HTTPS is not asked without it.
func (p *Policy) AllowOver(scheme, host string) error {
	if err := p.Allow(host); err != nil || p == nil || scheme != "http" {
		return err
	}
	if !p.knows(Plain + host) {
		return &RefusedError{fmt.Sprintf("the base does not use %s without HTTPS", host)}
	}
	return nil
}

// Plain before a host says that it may be asked over HTTP.
const Plain = "http://"

// OwnSettings has git take the settings that this process began with. Those of builds are of the whole process while one runs, and lead
// git to bases that were fetched.
var OwnSettings = "GIT_CONFIG_COUNT=" + cmp.Or(os.Getenv("GIT_CONFIG_COUNT"), "0")

// WithoutUser is an address as it may be printed: without the credentials that may be in it.
func WithoutUser(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return address
	}
	if at := strings.LastIndex(strings.SplitN(rest, "/", 2)[0], "@"); at >= 0 {
		rest = rest[at+1:]
	}
	return scheme + "://" + rest
}

// Normal makes the ways to write a repository's address alike.
func Normal(url string) string {
	url = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(url), "/"), ".git")
	if _, after, found := strings.Cut(url, "://"); found {
		url = after
	} else {
		url = strings.Replace(url, ":", "/", 1) // git@host:path
	}
	if _, after, found := strings.Cut(url, "@"); found {
		url = after
	}
	return url
}
