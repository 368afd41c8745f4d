package owners

import (
	"cmp"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Report is what a Repair has done.
type Report struct {
	// Moved is how many references were moved, or in a dry run would be. References are some of them.
	Moved      int64       `json:"moved"`
	References []Reference `json:"references"`
	// Left are those that the last look has found and that were not moved, by why.
	Left []Group `json:"left"`
	// NotLooked are the resources that could not be listed at the last look.
	NotLooked []NotLooked `json:"notLooked"`
	// Writers are the field managers that own the references that were found, and so may write the version again.
	Writers []Writer `json:"writers"`
	// Taken is how many moved references belong to Moult in managedFields, because they could not be given back to the one
	// who owned them; TakenWhy is why of one of them.
	Taken    int64  `json:"taken,omitempty"`
	TakenWhy string `json:"takenWhy,omitempty"`
	// Looks is how often all objects were listed.
	Looks int `json:"looks"`
	// Unfinished: even the last look has found references to be moved.
	Unfinished bool `json:"unfinished,omitempty"`
}

// Reference is one owner reference.
type Reference struct {
	Object Object `json:"object"`
	Path   string `json:"path"`
	CRD    string `json:"crd"`
	// Owner is as in "Widget rose".
	Owner string    `json:"owner"`
	UID   types.UID `json:"uid"`
	From  string    `json:"from"`
	To    string    `json:"to"`
	// OwnerTerminating: the owner is being deleted, so the garbage collector may delete the object next.
	OwnerTerminating bool `json:"ownerTerminating,omitempty"`
	// Writers are the field managers that own the reference.
	Writers []string `json:"writers,omitempty"`
	// Why says why it was left.
	Why string `json:"why,omitempty"`
}

// Object is the object that has a reference.
type Object struct {
	Resource  string `json:"resource"` // as in deployments.apps
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

// Reason is why a reference was left. The set is closed.
type Reason string

const (
	// ComesBack: it was moved, and somebody has written the version again.
	ComesBack Reason = "ComesBack"
	// Forbidden: it may not be written.
	Forbidden Reason = "Forbidden"
	// Refused: the API server, a webhook or a policy has refused the write, or the write was never answered.
	Refused Reason = "Refused"
	// OwnerGone: its owner does not exist, or another object has the owner's name.
	OwnerGone Reason = "OwnerGone"
	// OwnerUnknown: whether its owner exists could not be read.
	OwnerUnknown Reason = "OwnerUnknown"
)

// Reasons are all of them.
var Reasons = []Reason{ComesBack, Forbidden, Refused, OwnerGone, OwnerUnknown}

// Group are the references that were left for one reason; References are some of them.
type Group struct {
	Reason     Reason      `json:"reason"`
	Count      int64       `json:"count"`
	Needs      []string    `json:"needs,omitempty"` // permissions, as in "patch on configmaps"
	References []Reference `json:"references"`
}

// NotLooked is a resource that could not be listed.
type NotLooked struct {
	Resource string `json:"resource"`
	Why      string `json:"why"`
}

// Writer is a field manager, and how many of the references it owns.
type Writer struct {
	Manager    string `json:"manager"`
	References int64  `json:"references"`
}

// entry tells references apart, for as long as their objects live.
type entry struct{ object, owner types.UID }

// collector keeps what becomes of references.
type collector struct {
	most int

	mu      sync.Mutex
	report  Report
	moved   map[entry]int // how often
	now     int64         // moved in this look
	writers map[string]int64
	left    map[Reason]*Group
}

func newCollector(most int) *collector {
	c := &collector{most: most, moved: map[entry]int{}, writers: map[string]int64{}, report: Report{References: []Reference{}}}
	c.look()
	return c
}

// look begins a new look at all objects.
func (c *collector) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.left, c.report.NotLooked = 0, map[Reason]*Group{}, []NotLooked{}
}

func (c *collector) keeps(references []Reference) bool {
	return c.most == 0 || len(references) < c.most
}

func (c *collector) hasMoved(key entry, r Reference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved[key]++; c.moved[key] == 1 {
		c.report.Moved++
		for _, name := range r.Writers {
			c.writers[name]++
		}
		if c.keeps(c.report.References) {
			c.report.References = append(c.report.References, r)
		}
	}
	c.now++
}

func (c *collector) timesMoved(key entry) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moved[key]
}

func (c *collector) leave(reason Reason, needs string, r Reference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.left[reason]
	if g == nil {
		g = &Group{Reason: reason, References: []Reference{}}
		c.left[reason] = g
	}
	if g.Count++; c.keeps(g.References) {
		g.References = append(g.References, r)
	}
	if needs != "" && !slices.Contains(g.Needs, needs) {
		g.Needs = append(g.Needs, needs)
	}
}

func (c *collector) notLooked(resource, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.NotLooked = append(c.report.NotLooked, NotLooked{resource, why})
}

func (c *collector) taken(n int, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Taken += int64(n)
	c.report.TakenWhy = why
}

// movedNow is how many were moved in this look.
func (c *collector) movedNow() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// result ends the repair.
func (c *collector) result(looks int) Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.report
	r.Unfinished = looks == maxLooks && c.now > 0
	r.Looks, r.Left, r.Writers = looks, []Group{}, []Writer{}
	for _, reason := range Reasons {
		if g := c.left[reason]; g != nil {
			slices.SortFunc(g.References, byObject)
			slices.Sort(g.Needs)
			r.Left = append(r.Left, *g)
		}
	}
	slices.SortFunc(r.References, byObject)
	for name, n := range c.writers {
		r.Writers = append(r.Writers, Writer{name, n})
	}
	slices.SortFunc(r.Writers, func(a, b Writer) int {
		return cmp.Or(cmp.Compare(b.References, a.References), cmp.Compare(a.Manager, b.Manager))
	})
	return r
}

func byObject(a, b Reference) int {
	return cmp.Or(cmp.Compare(a.Object.Resource, b.Object.Resource), cmp.Compare(a.Object.Namespace, b.Object.Namespace),
		cmp.Compare(a.Object.Name, b.Object.Name), cmp.Compare(a.Path, b.Path))
}

// nameOf is the object of a resource that has these metadata.
func nameOf(r schema.GroupVersionResource, item *metav1.PartialObjectMetadata) Object {
	return Object{Resource: r.GroupResource().String(), Namespace: item.Namespace, Name: item.Name}
}

// permission is as in "patch on deployments in apps".
func permission(verb string, r schema.GroupVersionResource) string {
	if r.Group == "" {
		return verb + " on " + r.Resource
	}
	return verb + " on " + r.Resource + " in " + r.Group
}
