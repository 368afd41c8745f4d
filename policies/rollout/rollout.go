package rollout

import (
	"cmp"
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Rollout is how one cluster will take what a pull request changes.
type Rollout struct {
	// Cluster is the entry point, for example clusters/production.
	Cluster string `json:"cluster"`
	// Steps are in the order in which they are applied; those of the same Order are applied at the same time.
	Steps    []Step            `json:"steps,omitempty"`
	Findings []finding.Finding `json:"-"`
	// NotFollowed is all that is not seen, and as it was; the finding of that name has a few of it.
	NotFollowed []string `json:"-"`
}

// Step is what is applied at once: a sync wave of an Application, or a Kustomization.
type Step struct {
	// Order counts from 1.
	Order int           `json:"order"`
	Tool  delivery.Tool `json:"tool"`
	// Unit is the Application or the Kustomization, as namespace/name.
	Unit string `json:"unit"`
	// Phase is the sync phase of Argo CD's hooks, PreSync, PostSync or SyncFail; empty for an ordinary wave and with Flux.
	Phase string `json:"phase,omitempty"`
	// Wave is the sync wave of Argo CD; nil with Flux.
	Wave *int `json:"wave,omitempty"`
	// After are the units that have to be ready before this one starts (dependsOn).
	After []string `json:"after,omitempty"`
	// Items are what matters of what is applied: CRDs that change and gates for them. Others counts the rest.
	Items  []Item `json:"items,omitempty"`
	Others int    `json:"others"`
}

// Item is one object in a step.
type Item struct {
	Role Role `json:"role"`
	// Name is that of the CRD, or namespace/name of the VersionRemoval.
	Name string `json:"name"`
	// CRD and Versions say what a gate is for, or which versions leave the CRD.
	CRD      string        `json:"crd,omitempty"`
	Versions []string      `json:"versions,omitempty"`
	Place    finding.Place `json:"place,omitzero"`
}

// Role is what an Item is for. The set is closed.
type Role string

const (
	// Gate is a VersionRemoval.
	Gate Role = "gate"
	// Removal is a CRD that loses versions.
	Removal Role = "removal"
	// Flip is a CRD whose storage version changes.
	Flip Role = "flip"
	// Changed is a CRD that differs in another way.
	Changed Role = "changed"
)

// steps are the nodes of the head, in order.
func (s *situation) steps() []Step {
	var steps []Step
	for _, n := range s.order.nodes {
		step := Step{Order: n.order, Tool: n.unit.Tool, Unit: n.unit.Name, After: slices.Clone(n.unit.DependsOn)}
		if inWaves(n.unit) {
			step.Wave = new(n.slot.wave)
			if phase := phases[n.slot.phase]; phase != delivery.InSync && len(n.objects) > 0 {
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
