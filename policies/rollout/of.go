package rollout

import (
	"slices"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Of puts in order how a cluster takes a pull request, and says what would go wrong. base is the cluster before it and
// may have no units; changes are those of the CRDs that this cluster gets; labelKey is the key of the opt-in label.
func Of(base, head delivery.Cluster, changes []crddiff.Diff, labelKey string) Rollout {
	l := lookAt(base, head, changes, labelKey)
	r := Rollout{Cluster: head.Name, Steps: l.steps()}
	for _, rule := range rules {
		for _, f := range rule.find(l) {
			if f.Rule == "" {
				f.Rule = rule.name
			}
			f.Cluster = head.Name
			if !slices.Contains(r.Findings, f) {
				r.Findings = append(r.Findings, f)
			}
		}
	}
	finding.Sort(r.Findings)
	return r
}

// look is what a rule is asked about.
type look struct {
	base, head *delivery.Cluster
	changes    map[string]crddiff.Diff
	labelKey   string
	order      *order
	// changed are the CRDs of the head that differ, one for each unit that applies them.
	changed []delivered
	// gates are those of the head, baseGates those of the base.
	gates, baseGates []gate
}

// delivered is a CRD in a unit.
type delivered struct {
	crddiff.Diff

	object *delivery.Object
	node   *node
}

// gate is a VersionRemoval in a unit.
type gate struct {
	object *delivery.Object
	unit   *delivery.Unit
	nodes  []*node
}

func lookAt(base, head delivery.Cluster, changes []crddiff.Diff, labelKey string) *look {
	l := &look{base: &base, head: &head, changes: map[string]crddiff.Diff{}, labelKey: labelKey, order: orderOf(&head)}
	for _, c := range changes {
		l.changes[c.Name] = c
	}
	for _, n := range l.order.nodes {
		for _, object := range n.objects {
			if c, ok := l.changes[object.GetName()]; ok && object.IsCRD() {
				l.changed = append(l.changed, delivered{Diff: c, object: object, node: n})
			}
		}
	}
	l.gates, l.baseGates = gatesOf(&head, l.order), gatesOf(&base, nil)
	return l
}

func gatesOf(c *delivery.Cluster, o *order) []gate {
	var gates []gate
	for i := range c.Units {
		for _, object := range c.Units[i].Objects {
			if !object.IsGate() {
				continue
			}
			g := gate{object: object, unit: c.Units[i]}
			if o != nil {
				for _, n := range o.of(g.unit.Name) {
					if slices.Contains(n.objects, object) {
						g.nodes = append(g.nodes, n)
					}
				}
			}
			gates = append(gates, g)
		}
	}
	return gates
}

// name is namespace/name; an Application puts what says nothing about it into its own namespace.
func (g gate) name() string {
	namespace := g.object.GetNamespace()
	if namespace == "" && g.unit.By != nil {
		namespace = g.unit.By.Text("spec", "destination", "namespace")
	}
	if namespace == "" {
		return g.object.GetName()
	}
	return namespace + "/" + g.object.GetName()
}

func (g gate) crd() string        { return g.object.Text("spec", "crdName") }
func (g gate) versions() []string { return g.object.Texts("spec", "versions") }

// concerns tells whether the gate is for a version that leaves.
func (g gate) concerns(d delivered) bool {
	return g.crd() == d.Name && slices.ContainsFunc(d.Removed, func(v string) bool { return slices.Contains(g.versions(), v) })
}

// gatesFor are the gates that are for a version that leaves.
func (l *look) gatesFor(d delivered) []gate {
	var found []gate
	for _, g := range l.gates {
		if g.concerns(d) {
			found = append(found, g)
		}
	}
	return found
}

// removals are the CRDs that lose versions.
func (l *look) removals() []delivered {
	return slices.DeleteFunc(slices.Clone(l.changed), func(d delivered) bool { return len(d.Removed) == 0 })
}
