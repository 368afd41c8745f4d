package rollout

import (
	"fmt"
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/words"
)

// node is one step of the rollout while it is being put in order: a slot of a unit.
type node struct {
	unit    *delivery.Unit
	slot    slot
	objects []*delivery.Object
	edges   []edge // to what comes after
	order   int
}

// edge says that one node is applied after another.
type edge struct {
	to   *node
	kind edgeKind
	// unlocked is why the edge does not mean the same commit, empty if it does.
	unlocked string
	// release is what an edge of the kind held means to the later unit.
	release release
}

// edgeKind says what the later node waits for. The set is closed.
type edgeKind int

const (
	// nextWave: everything in the earlier wave is healthy.
	nextWave edgeKind = iota
	// dependency: the earlier unit is Ready, which means as much as its health checks.
	dependency
	// held: the earlier node has applied the Kustomization or Application of the later one; nothing is waited for.
	held
	// childHealth: an Application in the earlier wave of an app of apps is healthy, if Argo CD has been told what that is.
	childHealth
	// nextStep: an Application in the earlier step of a RollingSync is healthy, if Argo CD does steps, and if it has noticed
	// what the commit does to that one.
	nextStep
)

// order is what waits for what in a cluster.
type order struct {
	nodes []*node
	first map[string]*node // of a unit
	// cycles are lists of units that wait for one another; missing are dependencies on what is not there.
	cycles  [][]string
	missing []missing
}

type missing struct {
	unit *delivery.Unit
	name string
}

// orderOf puts a cluster in order that was another one before the commit.
func orderOf(base, c *delivery.Cluster) *order {
	o := &order{first: map[string]*node{}}
	for i := range c.Units {
		o.addUnit(c.Units[i])
	}
	for i := range c.Units {
		o.connect(base, c, c.Units[i])
	}
	o.connectSteps(base, c)
	o.findCycles()
	o.number()
	return o
}

// addUnit makes the nodes of a unit, one after the other.
func (o *order) addUnit(u *delivery.Unit) {
	var own []*node
	at := map[slot]*node{}
	place := func(s slot) *node {
		if at[s] == nil {
			at[s] = &node{unit: u, slot: s}
			own = append(own, at[s])
		}
		return at[s]
	}
	for _, object := range u.Objects {
		for _, s := range slots(u, object) {
			n := place(s)
			n.objects = append(n.objects, object)
		}
	}
	if len(own) == 0 {
		place(slot{})
	}
	slices.SortFunc(own, func(a, b *node) int { return a.slot.compare(b.slot) })
	for i := 1; i < len(own); i++ {
		own[i-1].edges = append(own[i-1].edges, edge{to: own[i], kind: nextWave})
	}
	o.first[u.Name] = own[0]
	o.nodes = append(o.nodes, own...)
}

// of are the nodes of a unit, in their order.
func (o *order) of(name string) []*node {
	var own []*node
	for _, n := range o.nodes {
		if n.unit.Name == name {
			own = append(own, n)
		}
	}
	return own
}

// connect adds what a unit waits for.
func (o *order) connect(base, c *delivery.Cluster, u *delivery.Unit) {
	for _, name := range u.DependsOn {
		on := c.Unit(name)
		if on == nil {
			o.missing = append(o.missing, missing{u, name})
			continue
		}
		readiness := readiness(c, on, nil)
		if on != u && slices.Contains(readiness, u) {
			o.cycles = append(o.cycles, []string{u.Name, on.Name})
			readiness = readiness[:1] // on itself
		}
		for _, ready := range readiness {
			last := o.of(ready.Name)
			from := last[len(last)-1]
			from.edges = append(from.edges, edge{to: o.first[u.Name], kind: dependency, unlocked: unlocked(u, on, name)})
		}
	}
	if u.By == nil || u.Parent == nil || u.Parent == u {
		return
	}
	around := o.of(u.Parent.Name)
	for i, n := range around {
		if !slices.ContainsFunc(n.objects, func(object *delivery.Object) bool { return object.Same(u.By) }) {
			continue
		}
		n.edges = append(n.edges, edge{to: o.first[u.Name], kind: held, release: releaseWith(base, c, u, n.objects)})
		if i+1 < len(around) {
			last := o.of(u.Name)
			from := last[len(last)-1]
			kind := childHealth
			if u.Tool == delivery.Flux {
				kind = dependency // Argo CD knows when a Kustomization is ready
			}
			from.edges = append(from.edges, edge{to: around[i+1], kind: kind})
		}
	}
}

// readiness are the units that are ready when one is: the unit itself, and those it holds if it waits for them.
func readiness(c *delivery.Cluster, u *delivery.Unit, around []string) []*delivery.Unit {
	all := []*delivery.Unit{u}
	if !waitsForAll(u) || slices.Contains(around, u.Name) {
		return all
	}
	for i := range c.Units {
		// To Flux, an Application is ready as soon as it exists.
		if inner := c.Units[i]; inner.Parent == u && inner != u && inner.Tool == delivery.Flux {
			all = append(all, readiness(c, inner, append(around, u.Name))...)
		}
	}
	return all
}

// unlocked says why a unit that depends on another may go ahead at a commit that the other has not seen.
func unlocked(u, on *delivery.Unit, name string) string {
	if u.By == nil || on.By == nil || on.Tool != delivery.Flux {
		return ""
	}
	if ours, theirs := u.By.SourceRef(), on.By.SourceRef(); ours != theirs {
		return fmt.Sprintf("it is of another source (%s %s, not %s %s), whose commits are not waited for", theirs.Kind, theirs, ours.Kind, ours)
	}
	for _, entry := range u.By.Entries("spec", "dependsOn") {
		if expression := entry.Text("readyExpr"); expression != "" && delivery.ReferenceOf(entry, u.By.GetNamespace()).String() == name {
			return "readyExpr takes the place of Flux's own check, which compares commits"
		}
	}
	return ""
}

// findCycles cuts what waits for itself, so that the rest can be put in order.
func (o *order) findCycles() {
	done := map[*node]bool{}
	for _, n := range o.nodes {
		o.cut(n, nil, done)
	}
}

// cut follows the edges depth first, and takes away those that lead back to where they came from.
func (o *order) cut(n *node, path []*node, done map[*node]bool) {
	if done[n] {
		return
	}
	path = append(path, n)
	n.edges = slices.DeleteFunc(n.edges, func(e edge) bool {
		back := slices.Index(path, e.to)
		if back < 0 {
			return false
		}
		o.cycles = append(o.cycles, unitsOf(path[back:]))
		return true
	})
	for _, e := range n.edges {
		o.cut(e.to, path, done)
	}
	done[n] = true
}

// unitsOf are the names of the units on a path, each once.
func unitsOf(path []*node) []string {
	return words.Distinct(words.Of(path, func(n *node) string { return n.unit.Name }))
}

// number gives each node the length of the longest way to it, so that those with the same number may be applied at the
// same time. What its unit's parent waits for is no part of the way to a unit that goes on its own.
func (o *order) number() {
	for _, n := range o.nodes {
		n.order = 1
	}
	for changed := true; changed; {
		changed = false
		for _, n := range o.nodes {
			for _, e := range n.edges {
				waits := n != o.first[n.unit.Name] || len(n.unit.DependsOn) > 0
				if waits && e.kind == held && e.release == onItsOwn {
					continue
				}
				if e.to.order <= n.order {
					e.to.order, changed = n.order+1, true
				}
			}
		}
	}
}
