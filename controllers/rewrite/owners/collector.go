package owners

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// entry tells references apart, for as long as their objects live.
type entry struct{ object, owner types.UID }

// maxRemembered bounds how many references a Memory has.
const maxRemembered = 10_000

// Memory is which references were moved, for one Repair after the other to tell what has come back since. It forgets when there
// are more than 10,000.
type Memory struct {
	mu    sync.Mutex
	moved map[entry]bool
}

// comesBack remembers a reference that was moved, and tells whether it was before.
func (m *Memory) comesBack(key entry) (before bool) {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if before = m.moved[key]; before {
		return true
	}
	if m.moved == nil || len(m.moved) >= maxRemembered {
		m.moved = map[entry]bool{}
	}
	m.moved[key] = true
	return false
}

// collector keeps what becomes of references.
type collector struct {
	most   int
	memory *Memory

	mu        sync.Mutex
	moved     map[entry]int    // how often
	returned  map[entry]bool   // had been moved before
	now       int64            // moved in this look
	parts     map[string]*part // by CRD
	notLooked []NotLooked
}

// part is what becomes of the references to the objects of one CRD.
type part struct {
	report  Report // but for what is the same for all
	writers map[string]int64
	left    map[Reason]*Group
}

func newCollector(most int, memory *Memory, targets []Target) *collector {
	c := &collector{most: most, memory: memory, moved: map[entry]int{}, returned: map[entry]bool{}, parts: map[string]*part{}}
	for i := range targets {
		c.parts[targets[i].CRD] = &part{writers: map[string]int64{}}
	}
	c.look()
	return c
}

// look begins a new look at all objects.
func (c *collector) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.notLooked = 0, nil
	for _, p := range c.parts {
		p.left = map[Reason]*Group{}
	}
}

func (c *collector) keeps(references []Reference) bool {
	return c.most == 0 || len(references) < c.most
}

func (c *collector) hasMoved(key entry, r Reference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.moved[key]++
	p, again := c.parts[r.CRD], c.moved[key] > 1
	if !again {
		p.report.Moved++
		for _, name := range r.Writers {
			p.writers[name]++
		}
		if c.keeps(p.report.References) {
			p.report.References = append(p.report.References, r)
		}
		again = c.memory.comesBack(key)
	}
	if again && !c.returned[key] {
		c.returned[key] = true
		p.report.Returned++
		p.report.ReturnedBy = distinct(append(p.report.ReturnedBy, r.Writers...))
	}
}

func (c *collector) timesMoved(key entry) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moved[key]
}

func (c *collector) leave(reason Reason, needs string, r Reference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.parts[r.CRD]
	g := p.left[reason]
	if g == nil {
		g = &Group{Reason: reason}
		p.left[reason] = g
	}
	if g.Count++; c.keeps(g.References) {
		g.References = append(g.References, r)
	}
	if needs != "" && !slices.Contains(g.Needs, needs) {
		g.Needs = append(g.Needs, needs)
	}
}

func (c *collector) cannotLook(resource, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notLooked = append(c.notLooked, NotLooked{resource, why})
}

// taken counts one reference to an object of a CRD.
func (c *collector) taken(crd, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts[crd].report.Taken++
	c.parts[crd].report.TakenWhy = why
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
	all, each := &part{writers: map[string]int64{}, left: map[Reason]*Group{}}, map[string]Report{}
	for crd, p := range c.parts {
		all.add(p)
		each[crd] = c.ended(p, looks)
	}
	r := c.ended(all, looks)
	r.Each = each
	return r
}

// add puts the references of another part to these.
func (p *part) add(other *part) {
	is := &p.report
	is.Moved += other.report.Moved
	is.References = append(is.References, other.report.References...)
	is.Taken += other.report.Taken
	is.TakenWhy = cmp.Or(is.TakenWhy, other.report.TakenWhy)
	is.Returned += other.report.Returned
	is.ReturnedBy = distinct(append(is.ReturnedBy, other.report.ReturnedBy...))
	for name, n := range other.writers {
		p.writers[name] += n
	}
	for reason, g := range other.left {
		if p.left[reason] == nil {
			p.left[reason] = &Group{Reason: reason}
		}
		to := p.left[reason]
		to.Count += g.Count
		to.References, to.Needs = append(to.References, g.References...), distinct(append(to.Needs, g.Needs...))
	}
}

// ended is a part as it is told.
func (c *collector) ended(p *part, looks int) Report {
	r := p.report
	r.Unfinished = looks == maxLooks && c.now > 0
	r.Looks, r.Left, r.Writers = looks, []Group{}, []Writer{}
	r.References, r.NotLooked = c.told(r.References), append([]NotLooked{}, c.notLooked...)
	for _, reason := range Reasons {
		if g := p.left[reason]; g != nil {
			g := *g
			g.References, g.Needs = c.told(g.References), slices.Sorted(slices.Values(g.Needs))
			r.Left = append(r.Left, g)
		}
	}
	for name, n := range p.writers {
		r.Writers = append(r.Writers, Writer{name, n})
	}
	slices.SortFunc(r.Writers, func(a, b Writer) int {
		return cmp.Or(cmp.Compare(b.References, a.References), cmp.Compare(a.Manager, b.Manager))
	})
	return r
}

// told are the references that a report names, in order.
func (c *collector) told(references []Reference) []Reference {
	sorted := append([]Reference{}, references...)
	slices.SortFunc(sorted, byObject)
	if c.most > 0 && len(sorted) > c.most {
		sorted = sorted[:c.most]
	}
	return sorted
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
