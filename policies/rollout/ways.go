package rollout

import "github.com/moult-dev/moult/policies/delivery"

// way is what there is between a gate and what it guards. The set is closed; a later one is better.
type way int

const (
	// none: what is guarded may be applied before the gate, or with it.
	none way = iota
	// unwatched: it comes after the gate's unit, which is ready without the gate.
	unwatched
	// unhealthy: it is held only if Argo CD knows when an Application is healthy.
	unhealthy
	// otherCommit: it waits for the gate, but perhaps as it was at an earlier commit.
	otherCommit
	// guarded: it waits until the gate is open.
	guarded
)

// between finds the best way from a gate to a node, and why it is not guarded.
func (o *order) between(from *node, gate *delivery.Object, to *node, applicationHealth bool) (best way, why string) {
	if o.reaches(from, to, func(e edge, first bool) bool {
		return e.unlocked == "" && e.kind != childHealth && (!first || e.watches(from, gate))
	}) ||
		applicationHealth && o.reaches(from, to, func(e edge, first bool) bool { return e.unlocked == "" && (!first || e.watches(from, gate)) }) {
		return guarded, ""
	}
	if o.reaches(from, to, func(e edge, first bool) bool {
		if e.unlocked != "" {
			why = e.unlocked
		}
		return (applicationHealth || e.kind != childHealth) && (!first || e.watches(from, gate))
	}) {
		return otherCommit, why
	}
	if o.reaches(from, to, func(e edge, first bool) bool { return !first || e.watches(from, gate) }) {
		return unhealthy, ""
	}
	if o.reaches(from, to, func(e edge, first bool) bool { return !first || e.kind != held }) {
		return unwatched, ""
	}
	return none, ""
}

// reaches follows the edges that may be taken.
func (o *order) reaches(from, to *node, may func(e edge, first bool) bool) bool {
	seen := map[*node]bool{from: true}
	queue := []*node{from}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, e := range n.edges {
			if seen[e.to] || !may(e, n == from) {
				continue
			}
			if e.to == to {
				return true
			}
			seen[e.to] = true
			queue = append(queue, e.to)
		}
	}
	return false
}

// watches tells whether the later node waits until a gate in the earlier one is open.
func (e edge) watches(from *node, gate *delivery.Object) bool {
	switch e.kind {
	case nextWave:
		return true
	case dependency:
		return checks(from.unit, gate)
	case childHealth:
		return from.unit.By != nil
	case held:
		return false
	}
	return false
}
