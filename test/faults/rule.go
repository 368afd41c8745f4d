package faults

import (
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// Rule says which requests meet a fault. What it leaves out does not matter.
type Rule struct {
	// Verbs are those of RBAC: get, list, watch, create, update, patch, delete, deletecollection.
	Verbs []string
	// Path is looked for in the path with its query, such as /apis/example.com/v1/widgets?limit=500.
	Path *regexp.Regexp
	// After is how many requests that match are let pass first.
	After int
	// Times is how many are hit; 0 is all of them.
	Times int
	// Probability is that of a request that matches to be hit; 0 is 1.
	Probability float64
	// Fault is what it meets.
	Fault Fault
}

// Injected is a rule in a proxy.
type Injected struct {
	Rule
	proxy   *Proxy
	matched int
	hit     atomic.Int64
}

// Hits is how many requests have met the fault.
func (i *Injected) Hits() int { return int(i.hit.Load()) }

// Heal takes this fault out.
func (i *Injected) Heal() {
	i.proxy.mu.Lock()
	defer i.proxy.mu.Unlock()
	i.proxy.rules = slices.DeleteFunc(i.proxy.rules, func(other *Injected) bool { return other == i })
}

// hits decides about one request. The proxy's lock is held.
func (i *Injected) hits(r Request, random *rand.Rand) bool {
	if len(i.Verbs) > 0 && !slices.Contains(i.Verbs, r.Verb) || i.Path != nil && !i.Path.MatchString(r.uri) {
		return false
	}
	i.matched++
	switch {
	case i.matched <= i.After:
		return false
	case i.Times > 0 && i.Hits() >= i.Times:
		return false
	case i.Probability > 0 && random.Float64() >= i.Probability:
		return false
	}
	i.hit.Add(1)
	return true
}

// Request is what a request asks of the API server.
type Request struct {
	Verb        string
	Name        string // empty for a collection
	Subresource string

	uri        string
	objectPath string
}

// parse reads a request of the forms /api/V/… and /apis/G/V/…, with or without a namespace.
func parse(r *http.Request) Request {
	q := Request{uri: r.URL.RequestURI()}
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	first := map[string]int{"api": 2, "apis": 3}[segments[0]] // of the resource, or of its namespace
	if first == 0 || len(segments) <= first {
		q.Verb = "get"
		return q
	}
	if segments[first] == "namespaces" && len(segments) > first+2 {
		first += 2
	}
	if len(segments) > first+1 {
		q.Name = segments[first+1]
		q.objectPath = "/" + strings.Join(segments[:first+2], "/")
	}
	if len(segments) > first+2 {
		q.Subresource = segments[first+2]
	}
	q.Verb = verb(r, q.Name == "")
	return q
}

func verb(r *http.Request, collection bool) string {
	switch watching := r.URL.Query().Get("watch"); {
	case r.Method == http.MethodGet && (watching == "true" || watching == "1"):
		return "watch"
	case r.Method == http.MethodGet && collection:
		return "list"
	case r.Method == http.MethodDelete && collection:
		return "deletecollection"
	default:
		return map[string]string{
			http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
		}[r.Method]
	}
}
