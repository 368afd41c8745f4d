package rollout

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// gate is a VersionRemoval in a unit.
type gate struct {
	object *delivery.Object
	unit   *delivery.Unit
}

func gatesOf(c *delivery.Cluster) []gate {
	var gates []gate
	for unit, object := range c.Objects() {
		if object.IsGate() {
			gates = append(gates, gate{object: object, unit: unit})
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
	return words.FullName(namespace, g.object.GetName())
}

func (g gate) crd() string        { return g.object.Text("spec", "crdName") }
func (g gate) versions() []string { return g.object.Texts("spec", "versions") }

// concerns reports whether the gate is for a version that leaves.
func (g gate) concerns(crd changedCRD) bool {
	return g.crd() == crd.Name && slices.ContainsFunc(crd.Removed, func(v string) bool { return slices.Contains(g.versions(), v) })
}

// gatesOn are the gates for a CRD, whichever versions they name.
func (s *situation) gatesOn(crd string) []gate {
	return slices.DeleteFunc(slices.Clone(s.gates), func(g gate) bool { return g.crd() != crd })
}

// newGates are those that were not there before with the same spec. One that was has done its work.
func (s *situation) newGates() []gate { return slices.DeleteFunc(slices.Clone(s.gates), s.before) }

// before reports whether a gate was there already, with the same spec.
func (s *situation) before(g gate) bool {
	return slices.ContainsFunc(s.baseGates, func(b gate) bool {
		return b.name() == g.name() && equality.Semantic.DeepEqual(b.object.Field("spec"), g.object.Field("spec"))
	})
}

// removalWithoutGate: the API server refuses the removal of a version that is still stored, and then the whole sync
// fails; a gate waits instead. Where the storage version itself leaves, flipWithRemoval says that another commit has to come
// first.
func removalWithoutGate(s *situation, crd changedCRD) *finding.Finding {
	if len(s.gatesOn(crd.Name)) > 0 || crd.Flips() && !crd.Head.Has(crd.Base.Storage) {
		return nil
	}
	return &finding.Finding{
		Severity: finding.Warning, CRD: crd.Name, Place: crd.object.Place("spec", "versions"),
		Why:         fmt.Sprintf("%s leaves, and nothing waits until no object is stored at it: where one is, the API server refuses the CRD and the sync fails", list(crd.Removed)),
		Remediation: "add a VersionRemoval for it: with Argo CD in an earlier sync wave of the same Application, with Flux in a Kustomization that the one of the CRD depends on",
	}
}

// gateLacksVersion: a gate opens for the versions that it names.
func gateLacksVersion(s *situation, crd changedCRD) *finding.Finding {
	gates := s.gatesOn(crd.Name)
	lacking := slices.DeleteFunc(slices.Clone(crd.Removed), func(v string) bool {
		return slices.ContainsFunc(gates, func(g gate) bool { return slices.Contains(g.versions(), v) })
	})
	if len(gates) == 0 || len(lacking) == 0 {
		return nil
	}
	last := gates[len(gates)-1]
	return &finding.Finding{
		Severity: finding.Error, CRD: crd.Name, Place: last.object.Place("spec", "versions"),
		Why:         fmt.Sprintf("%s leaves, but VersionRemoval %s is for %s, so nothing waits for it", list(lacking), last.name(), list(last.versions())),
		Remediation: "name " + list(lacking) + " in spec.versions, too",
	}
}

// gateCannotOpen: without the label in an earlier commit nothing migrates, and the version that is stored at cannot go.
func gateCannotOpen(s *situation, g guard) *finding.Finding {
	f := &finding.Finding{Severity: finding.Error, CRD: g.crd.Name, Place: g.gate.object.Place("spec", "versions")}
	switch storage := g.crd.Head.Storage; {
	case slices.Contains(g.gate.versions(), storage):
		f.Why = fmt.Sprintf("VersionRemoval %s names %s, at which the CRD stores its objects", g.gate.name(), storage)
		f.Remediation = "take " + storage + " out of spec.versions"
		return f
	case !g.crd.Base.OptedIn():
		f.Why = fmt.Sprintf("until this commit is applied the CRD is not opted in (%s), so nothing migrates its objects, and VersionRemoval %s holds this commit back", s.labelKey, g.gate.name())
		f.Remediation = "opt the CRD in with a commit of its own, before this one"
		return f
	}
	return nil
}

// gateForNothing: a name that is mistyped looks like a gate.
func gateForNothing(s *situation, g gate) *finding.Finding {
	if slices.ContainsFunc(s.removals(), g.concerns) || slices.ContainsFunc(s.locks(), func(l lock) bool { return l.gate == g }) {
		return nil
	}
	crd := s.head.CRD(g.crd())
	switch {
	case crd == nil && s.seesAll() && s.base.CRD(g.crd()) == nil:
		return &finding.Finding{
			Severity: finding.Warning, CRD: g.crd(), Place: g.object.Place("spec", "crdName"),
			Why:         fmt.Sprintf("VersionRemoval %s is for the CRD %s, which this cluster does not get", g.name(), g.crd()),
			Remediation: "correct spec.crdName",
		}
	case crd != nil && len(staying(crd, g)) > 0:
		return &finding.Finding{
			Severity: finding.Warning, CRD: g.crd(), Place: g.object.Place("spec", "versions"),
			Why:         fmt.Sprintf("VersionRemoval %s names %s, which the CRD still has: it may open long before the version leaves, and Argo CD need not look at it again then", g.name(), list(staying(crd, g))),
			Remediation: "add it, or change it, in the commit that removes the version",
		}
	}
	return nil
}

// staying are the versions that a gate names and its CRD still has.
func staying(crd *delivery.Object, g gate) []string {
	return slices.DeleteFunc(delivery.CRD{Object: crd}.Versions(), func(v string) bool { return !slices.Contains(g.versions(), v) })
}

// list puts names into a sentence.
func list(names []string) string {
	if len(names) == 0 {
		return "no version"
	}
	return strings.Join(names, ", ")
}
