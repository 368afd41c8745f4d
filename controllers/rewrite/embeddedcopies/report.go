package embeddedcopies

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Report is what became of the copies.
type Report struct {
	// Looks is how often everything was listed.
	Looks int `json:"looks"`
	// Moved is how many copies have a successor that is named instead, and are removed. In a dry run: would be.
	Moved int64 `json:"moved"`
	// Repointed is how many objects name a successor now.
	Repointed int64 `json:"repointed"`
	// GivenBack is how many were made again after they were removed, since something had named them meanwhile.
	GivenBack int64 `json:"givenBack"`
	// Stashes are some of those that were moved.
	Stashes []Stash `json:"stashes"`
	// Left are those that are as they were.
	Left []Group `json:"left"`
	// NotLooked are resources that could not be listed.
	NotLooked []NotLooked `json:"notLooked"`
	// Unfinished is true if it ended with something to do.
	Unfinished bool `json:"unfinished,omitempty"`
}

// Stash is an object with an old copy.
type Stash struct {
	Place  string `json:"place"`
	Object Object `json:"object"`
	CRD    string `json:"crd,omitempty"`
	// Copy is the kind and the name of what is in it.
	Copy string `json:"copy,omitempty"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Successor is the name of the object that takes its place.
	Successor string `json:"successor,omitempty"`
	// Referrers is how many objects named it when it was seen last.
	Referrers int64 `json:"referrers"`
	// Why says why it was left.
	Why string `json:"why,omitempty"`
}

// Object is an object's resource and name.
type Object struct {
	Resource  string `json:"resource"` // as in controllerrevisions.apps
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is the object for people.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Resource + " " + o.Name
	}
	return o.Resource + " " + o.Namespace + "/" + o.Name
}

// Reason is why a copy was left. The set is closed.
type Reason string

const (
	// Undecodable: the copy cannot be read.
	Undecodable Reason = "Undecodable"
	// NoRule: it is not known how it gets to a version that stays.
	NoRule Reason = "NoRule"
	// Conflict: the names for the successor are taken.
	Conflict Reason = "Conflict"
	// StillNamed: something names it that cannot be changed.
	StillNamed Reason = "StillNamed"
	// Declared: something names it that somebody applies, and would apply again.
	Declared Reason = "Declared"
	// ComesBack: it was repointed, and somebody has named the old one again.
	ComesBack Reason = "ComesBack"
	// Forbidden: a permission is missing.
	Forbidden Reason = "Forbidden"
	// Refused: the API server, a webhook or a policy has refused a write, or has not answered.
	Refused Reason = "Refused"
	// OwnerUnknown: whether its owner exists is not known.
	OwnerUnknown Reason = "OwnerUnknown"
	// NotKnown: whether anything names it is not known.
	NotKnown Reason = "NotKnown"
	// Busy: the project works with the copies of the namespace.
	Busy Reason = "Busy"
	// ByController: a controller of the project moves it.
	ByController Reason = "ByController"
	// Terminating: it goes with its owner.
	Terminating Reason = "Terminating"
)

// Reasons are all of them.
var Reasons = []Reason{
	Undecodable, NoRule, Conflict, StillNamed, Declared, ComesBack, Forbidden, Refused, OwnerUnknown, NotKnown, Busy, ByController, Terminating,
}

// Passes tells whether the reason goes by itself, so that the same again does it.
func (r Reason) Passes() bool { return r == Busy || r == ByController || r == Terminating }

// Group are the copies that were left for one reason; Stashes are some of them.
type Group struct {
	Reason  Reason   `json:"reason"`
	Count   int64    `json:"count"`
	Needs   []string `json:"needs,omitempty"` // permissions, as in "delete on controllerrevisions in apps"
	Stashes []Stash  `json:"stashes"`
}

// NotLooked is a resource that could not be listed.
type NotLooked struct {
	Resource string `json:"resource"`
	Why      string `json:"why"`
}

// naming is one object that names another.
type naming struct {
	by referrer
	of types.NamespacedName
}

// collector keeps what becomes of copies.
type collector struct {
	most int

	mu     sync.Mutex
	report Report
	now    int64 // done in this look
	left   map[Reason]*Group
	times  map[naming]int
	backs  map[types.NamespacedName]int
}

func newCollector(most int) *collector {
	c := &collector{most: most, report: Report{Stashes: []Stash{}}, times: map[naming]int{}, backs: map[types.NamespacedName]int{}}
	c.look()
	return c
}

// look begins a new look at everything.
func (c *collector) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.left, c.report.NotLooked = 0, map[Reason]*Group{}, []NotLooked{}
}

func (c *collector) keeps(stashes []Stash) bool { return c.most == 0 || len(stashes) < c.most }

func (c *collector) moved(s Stash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.report.Moved++
	if c.keeps(c.report.Stashes) {
		c.report.Stashes = append(c.report.Stashes, s)
	}
}

// again asks for another look.
func (c *collector) again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
}

func (c *collector) timesRepointed(by referrer, of types.NamespacedName) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.times[naming{by, of}]
}

func (c *collector) repointed(by referrer, of types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	if c.times[naming{by, of}]++; c.times[naming{by, of}] == 1 {
		c.report.Repointed++
	}
}

func (c *collector) gaveBack(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.backs[key]++
	c.report.GivenBack++
}

func (c *collector) timesGivenBack(key types.NamespacedName) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.backs[key]
}

func (c *collector) leave(reason Reason, needs string, s Stash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.left[reason]
	if g == nil {
		g = &Group{Reason: reason, Stashes: []Stash{}}
		c.left[reason] = g
	}
	if g.Count++; c.keeps(g.Stashes) {
		g.Stashes = append(g.Stashes, s)
	}
	if needs != "" && !slices.Contains(g.Needs, needs) {
		g.Needs = append(g.Needs, needs)
	}
}

func (c *collector) notLooked(resource, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := (NotLooked{resource, why}); !slices.Contains(c.report.NotLooked, n) {
		c.report.NotLooked = append(c.report.NotLooked, n)
	}
}

// done is how much was done in this look.
func (c *collector) done() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// moves is how many were moved.
func (c *collector) moves() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report.Moved
}

// result ends the migration.
func (c *collector) result(looks int, unfinished bool) Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.report
	r.Looks, r.Left, r.Unfinished = looks, []Group{}, unfinished
	for _, reason := range Reasons {
		if g := c.left[reason]; g != nil {
			slices.SortFunc(g.Stashes, byObject)
			slices.Sort(g.Needs)
			r.Left = append(r.Left, *g)
		}
	}
	slices.SortFunc(r.Stashes, byObject)
	return r
}

func byObject(a, b Stash) int {
	return cmp.Or(cmp.Compare(a.Object.Resource, b.Object.Resource), cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
}
