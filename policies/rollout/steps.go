package rollout

import (
	"cmp"
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
)

// steps are the nodes of the head, in order.
func (s *situation) steps() []Step {
	var steps []Step
	for _, n := range s.order.nodes {
		step := Step{Order: n.order, Tool: n.unit.Tool, Unit: n.unit.Name, After: slices.Clone(n.unit.DependsOn)}
		if inWaves(n.unit) {
			wave := n.slot.wave
			step.Wave = &wave
			if phase := phases[n.slot.phase]; phase != inSync && len(n.objects) > 0 {
				step.Phase = phase
			}
		}
		for _, object := range n.objects {
			if item, ok := s.item(object, n); ok {
				step.Items = append(step.Items, item)
			} else {
				step.Others++
			}
		}
		steps = append(steps, step)
	}
	slices.SortStableFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Unit, b.Unit))
	})
	return steps
}

// item is what matters about an object, if it does.
func (s *situation) item(object *delivery.Object, n *node) (Item, bool) {
	if object.IsGate() {
		g := gate{object: object, unit: n.unit}
		if _, ok := s.changes[g.crd()]; !ok {
			return Item{}, false
		}
		return Item{Role: Gate, Name: g.name(), CRD: g.crd(), Versions: g.versions(), Place: object.Place()}, true
	}
	c, ok := s.changes[object.GetName()]
	if !ok || !object.IsCRD() {
		return Item{}, false
	}
	item := Item{Role: Changed, Name: c.Name, CRD: c.Name, Place: object.Place()}
	switch {
	case len(c.Removed) > 0:
		item.Role, item.Versions = Removal, c.Removed
	case c.Flips():
		item.Role = Flip
	}
	return item, true
}
