package rollout

import "github.com/moult-dev/moult/policies/delivery"

// enforcement is how well a gate holds what it guards, by what is between the two. The set is closed; a later one is better.
type enforcement int

const (
	// notEarlier: what is guarded may be applied before the gate, or with it.
	notEarlier enforcement = iota
	// notWaitedFor: it comes after the gate's unit, which is ready without the gate.
	notWaitedFor
	// notHeldByParent: its unit's parent waits for the gate, and the unit follows its source by itself.
	notHeldByParent
	// ifHealthIsKnown: it is held only if Argo CD knows when an Application is healthy.
	ifHealthIsKnown
	// ifNoticed: it is held only if Argo CD notices in time that what was healthy before the commit no longer is. In the
	// steps of a RollingSync, it is held only if Argo CD waits for steps at all.
	ifNoticed
	// atOtherCommit: it waits for the gate, but perhaps as it was at an earlier commit.
	atOtherCommit
	// enforced: it waits until the gate is open.
	enforced
)

// between is the best enforcement on the ways from a gate to a node, where each way is worth as much as its weakest edge.
// why is what weakens it, if the weakest edge has a reason.
func (o *order) between(from *node, gate *delivery.Object, to *node, applicationHealth bool) (best enforcement, why string) {
	for best = enforced; best > notEarlier; best-- {
		way := o.way(from, to, func(e edge, first bool) bool { return e.enforces(from, gate, first, applicationHealth) >= best })
		if way == nil {
			continue
		}
		for i, e := range way {
			if e.unlocked != "" && e.enforces(from, gate, i == 0, applicationHealth) == best {
				why = e.unlocked
			}
		}
		return best, why
	}
	return notEarlier, ""
}

// enforces is what an edge by itself makes of a gate in the node that the way begins at.
func (e edge) enforces(from *node, gate *delivery.Object, first, applicationHealth bool) enforcement {
	switch {
	case first && e.kind == held:
		return notEarlier
	case first && !e.watches(from, gate):
		return notWaitedFor
	case e.kind == held && e.release == onItsOwn:
		return notHeldByParent
	case e.kind == childHealth && !applicationHealth:
		return ifHealthIsKnown
	case e.kind == held && e.release == repointed && from.unit != e.to.unit.Parent, e.kind == nextStep:
		return ifNoticed
	case e.unlocked != "":
		return atOtherCommit
	}
	return enforced
}

// watches reports whether the later node waits until a gate in the earlier one is open.
func (e edge) watches(from *node, gate *delivery.Object) bool {
	switch e.kind {
	case nextWave, nextStep:
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

// way is a shortest way along edges that may be taken, nil if there is none. First are the edges that it begins with.
func (o *order) way(from, to *node, may func(e edge, first bool) bool) []edge {
	ways := map[*node][]edge{from: {}}
	for queue := []*node{from}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		for _, e := range n.edges {
			if _, seen := ways[e.to]; seen || !may(e, n == from) {
				continue
			}
			ways[e.to] = append(ways[n][:len(ways[n]):len(ways[n])], e)
			if e.to == to {
				return ways[to]
			}
			queue = append(queue, e.to)
		}
	}
	return nil
}
