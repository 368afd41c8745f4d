package rollout

import (
	"slices"

	"github.com/moult-dev/moult/policies/words"
)

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
// same time.
func (o *order) number() {
	for _, n := range o.nodes {
		n.order = 1
	}
	for changed := true; changed; {
		changed = false
		for _, n := range o.nodes {
			for _, e := range n.edges {
				if e.to.order <= n.order {
					e.to.order, changed = n.order+1, true
				}
			}
		}
	}
}
