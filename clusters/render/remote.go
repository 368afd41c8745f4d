package render

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/moult-dev/moult/clusters/network"
)

// remotes stands between a build and the network. Kustomize fetches whatever a kustomization names, with git or over HTTP.
type remotes struct {
	policy *network.Policy
	guard  http.RoundTripper
	// refused is why something was not fetched: Kustomize's own errors do not keep it.
	refused error
	// bases are those that were fetched, nil if none are kept. Of those in taken, git gets them from there.
	bases *bases
	taken map[string]bool
	// settings is how many git takes from the environment, apart from these.
	settings string
}

func newRemotes(policy *network.Policy, builds *Builds) *remotes {
	r := &remotes{policy: policy, guard: policy.Guard(), taken: map[string]bool{}}
	if builds != nil {
		r.bases = &builds.bases
	}
	return r
}

// check refuses what Kustomize would have git fetch for a kustomization, and what would run a program.
func (r *remotes) check(kustomization []byte) error {
	for _, base := range remoteBases(kustomization) {
		if err := r.allow(base); err != nil {
			r.refused = fmt.Errorf("its remote base %s is not fetched: %w", base.name, err)
			return r.refused
		}
		if err := r.fetch(base); err != nil {
			r.refused = err
			return err
		}
	}
	return nil
}

func (r *remotes) allow(base remoteBase) error {
	if strings.HasPrefix(base.ref, "-") || strings.ContainsAny(base.ref, ":*^") || strings.HasPrefix(base.ref, "+") {
		return fmt.Errorf("its ref %q is not the name of a revision", base.ref) // but an option of git, or more than one ref
	}
	if r.policy == nil {
		return nil
	}
	return r.policy.AllowGit(base.address)
}

// RoundTrip implements http.RoundTripper, for what Kustomize asks for over HTTP.
func (r *remotes) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.guard.RoundTrip(request)
	if refused := (*network.RefusedError)(nil); errors.As(err, &refused) {
		r.refused = fmt.Errorf("its remote file %s is not fetched: %w", request.URL.Redacted(), err)
	}
	return response, err
}

// during runs a build, in which no host is asked that may not be. Kustomize takes no HTTP client, but Go's own; and its git
// fetches submodules, too, from wherever a remote base says. Both are of the whole process, as building is.
func (r *remotes) during(build func() error) error {
	if r.policy == nil {
		r.settings = cmp.Or(os.Getenv("GIT_CONFIG_COUNT"), "0")
		defer set("GIT_CONFIG_COUNT", r.settings)()
		return build()
	}
	transport := http.DefaultTransport
	http.DefaultTransport = r
	defer func() { http.DefaultTransport = transport }()
	defer limitGit()()
	r.settings = os.Getenv("GIT_CONFIG_COUNT")
	return build()
}

// limitGit keeps git from fetching submodules and from following redirects, and returns how to take that back. Others may
// start git meanwhile: the count of settings comes last and goes first, so that there is never one without its key.
// https://git-scm.com/docs/gitsubmodules#_active_submodules
func limitGit() (undo func()) {
	count, err := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	if err != nil || count < 0 {
		count = 0
	}
	undo = func() {}
	for _, variable := range [][2]string{
		{"GIT_TERMINAL_PROMPT", "0"},
		{"GIT_ALLOW_PROTOCOL", "http:https:ssh:file"},
		{fmt.Sprintf("GIT_CONFIG_KEY_%d", count), "submodule.active"},
		{fmt.Sprintf("GIT_CONFIG_VALUE_%d", count), "none"},
		{fmt.Sprintf("GIT_CONFIG_KEY_%d", count+1), "http.followRedirects"},
		{fmt.Sprintf("GIT_CONFIG_VALUE_%d", count+1), "false"},
		{"GIT_CONFIG_COUNT", strconv.Itoa(count + 2)},
	} {
		back, before := set(variable[0], variable[1]), undo
		undo = func() { back(); before() }
	}
	return undo
}

// set sets a variable of the environment, and returns how to take that back.
func set(name, value string) (undo func()) {
	was, had := os.LookupEnv(name)
	_ = os.Setenv(name, value)
	if had {
		return func() { _ = os.Setenv(name, was) }
	}
	return func() { _ = os.Unsetenv(name) }
}

// remoteBase is what Kustomize takes from elsewhere.
type remoteBase struct {
	name string // as the kustomization has it
	host string // empty for a repository on this machine
	// address is the part of the name that git gets, and more.
	address string
	ref     string
}

// RemoteHosts are the hosts of all that a kustomization takes from elsewhere.
func RemoteHosts(kustomization []byte) (hosts []string) {
	for _, base := range remoteBases(kustomization) {
		if base.host != "" && !slices.Contains(hosts, base.host) {
			hosts = append(hosts, base.host)
		}
	}
	return hosts
}

// TakesFromElsewhere reports whether a file is a kustomization that takes in remote bases, or charts.
func TakesFromElsewhere(file string) bool {
	if KustomizationIn(filepath.Dir(file)) != file {
		return false
	}
	content, err := ReadRegular(file)
	return err == nil && (len(remoteBases(content)) > 0 || mayTakeCharts(file))
}

// remoteBases are those of a kustomization; none if it cannot be read, which is for the build to say. What it names
// otherwise, such as a patch, is fetched over HTTP alone.
func remoteBases(kustomization []byte) (bases []remoteBase) {
	var k types.Kustomization
	if err := k.Unmarshal(kustomization); err != nil {
		return nil
	}
	k.FixKustomization() // older fields become newer ones
	for _, name := range slices.Concat(k.Resources, k.Components, k.Generators, k.Transformers, k.Validators) {
		if base, remote := remoteBaseOf(name); remote {
			bases = append(bases, base)
		}
	}
	return bases
}

var (
	schemes  = regexp.MustCompile(`(?i)^(ssh|https|http|file)://`)
	username = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)
	gitHub   = regexp.MustCompile(`(?i)^github\.com[/:]`)
)

// remoteBaseOf reads a reference as Kustomize does.
// https://github.com/kubernetes-sigs/kustomize/blob/api/v0.21.1/api/internal/git/repospec.go
func remoteBaseOf(name string) (remoteBase, bool) {
	base := remoteBase{name: name}
	if filepath.IsAbs(name) {
		return base, false
	}
	address, query, _ := strings.Cut(name, "?")
	if values, err := url.ParseQuery(query); err == nil {
		if base.ref = values.Get("ref"); base.ref == "" {
			base.ref = values.Get("version")
		}
	}
	if len(address) >= 5 && strings.EqualFold(address[:5], "git::") {
		address = address[5:]
	}
	base.address = address
	scheme := strings.ToLower(schemes.FindString(address))
	if scheme != "" {
		base.address = scheme + address[len(scheme):]
	}
	address = address[len(scheme):]
	user := username.FindString(address)
	address = address[len(user):]
	switch {
	case scheme == "file://":
		return base, true
	case gitHub.MatchString(address):
		base.host, base.address = "github.com", "https://github.com/"+address[len("github.com/"):]
		return base, true
	case scheme == "" && user == "":
		return base, false
	}
	host, _ := network.Remote(base.address)
	base.host = strings.ToLower(host)
	return base, true
}
