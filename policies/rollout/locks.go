package rollout

import (
	"fmt"
	"slices"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// lock is a gate that waits for a change of its CRD, and holds back the unit that brings it.
type lock struct {
	gate gate
	unit *delivery.Unit // the CRD's
	// until is what the gate waits for, and commit is what brings it.
	until, commit string
	field         []string // of the VersionRemoval
}

// Locks finds the gates in what is in Git that wait for what they hold back, without a commit to compare it with. What is in Git
// may be that of several clusters, and then a name of a unit says nothing about the order.
func Locks(c delivery.Cluster, labelKey string) (findings []finding.Finding) {
	s := observe(c, c, nil, labelKey)
	for _, l := range s.locksAmong(s.gates) {
		if ambiguous(c, l.gate.unit) || ambiguous(c, l.unit) {
			continue
		}
		f := gateLocksItself(s, l)
		f.Rule = GateLocksItself
		findings = append(findings, *f)
	}
	return findings
}

func ambiguous(c delivery.Cluster, u *delivery.Unit) bool {
	return slices.ContainsFunc(c.Units, func(other *delivery.Unit) bool { return other != u && other.Name == u.Name })
}

// locks are those that a commit makes, or is held back by: of gates that are new, and of CRDs that change.
func (s *situation) locks() []lock {
	return s.locksAmong(slices.DeleteFunc(slices.Clone(s.gates), func(g gate) bool {
		_, changes := s.changes[g.crd()]
		return !changes && s.before(g)
	}))
}

func (s *situation) locksAmong(gates []gate) (found []lock) {
	for _, g := range gates {
		for _, n := range s.order.nodes {
			crd := s.applied(g.crd(), n)
			if crd == nil || !s.holds(g, n) {
				continue
			}
			if l, waits := s.waitsFor(g, crd); waits {
				l.unit = n.unit
				found = append(found, l)
				break
			}
		}
	}
	return found
}

// holds reports whether a node waits for a gate.
func (s *situation) holds(g gate, to *node) bool {
	passedOver := inWaves(g.unit) && s.before(g) && syncOption(g.unit, "ApplyOutOfSyncOnly=true")
	e, _ := s.enforcement(g, to)
	return e > notHeldByParent && !passedOver
}

// applied is a CRD that a node applies, as it was before the commit: in its unit, or else wherever it was. It is nil if the node
// does not apply it, and if the cluster does not have it: then a gate waits for nothing.
func (s *situation) applied(name string, n *node) *delivery.Object {
	named := func(o *delivery.Object) bool { return o.IsCRD() && o.GetName() == name }
	if !slices.ContainsFunc(n.objects, named) {
		return nil
	}
	if was := s.base.Unit(n.unit.Name); was != nil {
		if i := slices.IndexFunc(was.Objects, named); i >= 0 {
			return was.Objects[i]
		}
	}
	return s.base.CRD(name)
}

// waitsFor is the change of the CRD that a gate waits for. What Moult or people do in the cluster is held back by no tool. The order
// is that of the rules in policies/verdict.
func (s *situation) waitsFor(g gate, crd *delivery.Object) (l lock, waits bool) {
	l = lock{gate: g, field: []string{"spec", "versions"}}
	var served []string
	for _, v := range crd.Entries("spec", "versions") {
		name := v.Text("name")
		if !slices.Contains(g.versions(), name) {
			continue
		}
		if v.True("storage") {
			l.until, l.commit = fmt.Sprintf("%s is not the storage version", name), "move the storage version"
			return l, true
		}
		if v.True("served") {
			served = append(served, name)
		}
	}
	switch {
	case !delivery.CRD{Object: crd}.OptedIn(s.labelKey):
		l.until, l.commit = fmt.Sprintf("the CRD has the label %s: %q", s.labelKey, v1alpha1.MigrateLabelValue), "opt the CRD in"
	case len(served) > 0 && slices.Contains(g.object.Texts("spec", "require"), string(v1alpha1.Unserved)):
		l.field = []string{"spec", "require"}
		l.until, l.commit = fmt.Sprintf("%s is not served (%s)", list(served), v1alpha1.Unserved), "stop serving "+list(served)
	default:
		return l, false
	}
	return l, true
}

// gateLocksItself: nothing ends this but a commit that takes the gate out. Where GateCannotOpen or FlipWithRemoval is about the
// same, these are more precise.
func gateLocksItself(s *situation, l lock) *finding.Finding {
	for _, g := range s.guards() {
		cannotOpen := g.gate == l.gate && gateCannotOpen(s, g) != nil
		if cannotOpen || g.gate == l.gate && flipWithRemoval(s, g.crd) != nil {
			return nil
		}
	}
	return &finding.Finding{
		Severity: finding.Error, CRD: l.gate.crd(), Place: l.gate.object.Place(l.field...),
		Why: fmt.Sprintf("VersionRemoval %s waits until %s, which only %s can bring, and that waits for the VersionRemoval: neither ever ends",
			l.gate.name(), l.until, l.unit.Name),
		Remediation: fmt.Sprintf("%s with a commit that has no VersionRemoval, and add it in the commit that removes the version, once the first is applied", l.commit),
	}
}
