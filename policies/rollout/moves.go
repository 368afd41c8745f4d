package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// move is a HelmRelease or a Kustomization that brings CRDs, and that another unit applies from now on. The unit before prunes it, if that
// one comes first, and it takes the CRDs with it.
type move struct {
	crd, by  *delivery.Object
	from, to *delivery.Unit // from is of the base, to of the head
	// namespace is what by is deleted with, by from; nil if it moves.
	namespace *delivery.Object
}

// argoCDOptions is the annotation by which Argo CD is kept from pruning an object.
// https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#no-prune-resources
const argoCDOptions = "argocd.argoproj.io/sync-options"

// moves are those by which a CRD may be deleted. Its own unit is the same before and after.
func (s *situation) moves() []move {
	var found []move
	pruned := s.namespacesPruned()
	for unit, object := range s.base.Objects() {
		if now := s.head.Unit(unit.Name); !object.IsCRD() || now == nil || !now.Holds(object) {
			continue // gone says what becomes of it
		}
		for u, inside := unit, object; u.Parent != nil && u.By != nil && goesWith(u, inside); u, inside = u.Parent, u.By {
			if with, goes := pruned[u.By.GetNamespace()]; goes {
				found = append(found, move{crd: object, by: u.By, from: with.unit, to: s.holderOf(with.object), namespace: with.object})
				break
			}
			to := s.holderOf(u.By)
			if to != nil && s.head.Unit(u.Parent.Name) != to && s.prunesFrom(u.Parent, u.By) {
				found = append(found, move{crd: object, by: u.By, from: u.Parent, to: to})
				break
			}
		}
	}
	return found
}

// namespacesPruned are the Namespaces that are deleted, with all that is in them, by their names.
func (s *situation) namespacesPruned() map[string]gone {
	found := map[string]gone{}
	for unit, object := range s.base.Objects() {
		if object.Is("", "Namespace") && s.prunesFrom(unit, object) {
			found[object.GetName()] = gone{object: object, unit: unit}
		}
	}
	return found
}

func (s *situation) holderOf(object *delivery.Object) *delivery.Unit {
	for _, u := range s.head.Units {
		if u.Holds(object) {
			return u
		}
	}
	return nil
}

// goesWith reports whether an object of a unit is deleted if what applies the unit is.
func goesWith(u *delivery.Unit, object *delivery.Object) bool {
	switch u.Tool {
	case delivery.Helm:
		return !keptByHelm(u, object)
	case delivery.Flux:
		return !keptByFlux(object) && deletesAll(u.By)
	case delivery.ArgoCD: // does not track CRDs
	}
	return false
}

// prunesFrom reports whether a unit of the base does not have an object any more, and deletes it.
func (s *situation) prunesFrom(from *delivery.Unit, object *delivery.Object) bool {
	now := s.head.Unit(from.Name)
	if from.By == nil || now != nil && (now.Holds(object) || now.Incomplete()) {
		return false
	}
	if from.Tool == delivery.ArgoCD {
		prune := delivery.Under(delivery.SpecOf(from.By), "syncPolicy", "automated", "prune")
		return from.By.True(prune...) && !strings.Contains(object.Annotation(argoCDOptions), "Prune=false")
	}
	return s.prunes(gone{object: object, unit: from})
}

// carriedAway: what brings a CRD moves to another unit, or is deleted with its Namespace.
func carriedAway(_ *situation, m move) *finding.Finding {
	name, keep := m.by.Holder(), delivery.FluxGroup+"/prune: disabled"
	if m.from.Tool == delivery.ArgoCD {
		keep = argoCDOptions + ": Prune=false"
	}
	f := &finding.Finding{Severity: finding.Error, CRD: m.crd.GetName(), Place: m.by.Place()}
	if m.namespace != nil {
		first := ""
		if m.to != nil {
			first = fmt.Sprintf(" if it comes before %s, which has that from now on", m.to.Name)
		}
		f.Why = fmt.Sprintf("%s, which has prune: true, deletes %s%s, and with it %s, which brings the CRD, and with that the CRD with all its objects", m.from.Name, m.namespace.Holder(), first, name)
		f.Remediation = fmt.Sprintf("keep the Namespace, or first annotate it with %s and let that be applied", keep)
		return f
	}
	f.Why = fmt.Sprintf("%s, which brings the CRD, moves from %s, which has prune: true, to %s: if %[2]s comes first, it deletes %[1]s, and with that the CRD with all its objects",
		name, m.from.Name, m.to.Name)
	f.Remediation = fmt.Sprintf("first annotate %s with %s and let that be applied, then move it", name, keep)
	return f
}

// deletedUnseen: what brings something that is not seen is deleted with its Namespace.
func deletedUnseen(s *situation) (findings []finding.Finding) {
	pruned := s.namespacesPruned()
	for _, u := range s.unseenAsBefore() {
		if with, goes := pruned[u.By.GetNamespace()]; goes && takesBack(u.By) {
			findings = append(findings, finding.Finding{
				Severity: finding.Warning, Object: u.Name, Place: u.By.Place(), Remediation: seeing(u),
				Why: fmt.Sprintf("%s is deleted with %s by %s, which has prune: true, and it is not known which CRDs it takes with it: %s", u.Name, with.object.Holder(), with.unit.Name, u.Why),
			})
		}
	}
	return findings
}

// takesBack reports whether what an object has brought is deleted with it. A program leaves what it has made.
func takesBack(object *delivery.Object) bool {
	return object.Is("helm.toolkit.fluxcd.io", "HelmRelease") || delivery.ToolOf(object) == delivery.Flux
}

// crdsPruned are the CRDs that are deleted by themselves, and those that are with what brings them.
func crdsPruned(s *situation) []finding.Finding {
	return slices.Concat(each((*situation).gone, crdPruned)(s), each((*situation).moves, carriedAway)(s))
}
