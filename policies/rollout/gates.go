package rollout

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// removalWithoutGate: the API server refuses the removal of a version that is still stored, and then the whole sync
// fails; a gate waits instead.
func removalWithoutGate(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, d := range l.removals() {
		if slices.ContainsFunc(l.gates, func(g gate) bool { return g.crd() == d.Name }) || d.Flips() && !d.Head.Has(d.Base.Storage) {
			continue // flipWithRemoval says that the removal has to wait for another commit
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Warning, CRD: d.Name, Place: d.object.Place("spec", "versions"),
			Why:  fmt.Sprintf("%s leaves, and nothing waits until no object is stored at it: where one is, the API server refuses the CRD and the sync fails", list(d.Removed)),
			Mend: "add a VersionRemoval for it, in an earlier sync wave or in a Kustomization that this one depends on",
		})
	}
	return findings
}

// gateLacksVersion: a gate opens for the versions that it names.
func gateLacksVersion(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, d := range l.removals() {
		var named []string
		var last *gate
		for i := range l.gates {
			if g := &l.gates[i]; g.crd() == d.Name {
				named, last = append(named, g.versions()...), g
			}
		}
		var lacking []string
		for _, v := range d.Removed {
			if !slices.Contains(named, v) {
				lacking = append(lacking, v)
			}
		}
		if last == nil || len(lacking) == 0 {
			continue
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Error, CRD: d.Name, Place: last.object.Place("spec", "versions"),
			Why:  fmt.Sprintf("%s leaves, but VersionRemoval %s is for %s, so nothing waits for it", list(lacking), last.name(), list(last.versions())),
			Mend: "name " + list(lacking) + " in spec.versions, too",
		})
	}
	return findings
}

// gateCannotOpen: without the label in an earlier commit nothing migrates, and the version that is stored at cannot go.
func gateCannotOpen(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, d := range l.removals() {
		for _, g := range l.gatesFor(d) {
			f := finding.Finding{Severity: finding.Error, CRD: d.Name, Place: g.object.Place("spec", "versions")}
			switch {
			case slices.Contains(g.versions(), d.Head.Storage):
				f.Why = fmt.Sprintf("VersionRemoval %s names %s, at which the CRD stores its objects", g.name(), d.Head.Storage)
				f.Mend = "take " + d.Head.Storage + " out of spec.versions"
			case !d.Base.OptedIn():
				f.Why = fmt.Sprintf("until this commit is applied the CRD is not opted in (%s), so nothing migrates its objects, and VersionRemoval %s holds this commit back", l.labelKey, g.name())
				f.Mend = "opt the CRD in with a commit of its own, before this one"
			default:
				continue
			}
			findings = append(findings, f)
		}
	}
	return findings
}

// gateForNothing: a name that is mistyped looks like a gate. One that was there before has done its work.
func gateForNothing(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, g := range l.gates {
		if l.before(g) || slices.ContainsFunc(l.removals(), g.concerns) {
			continue
		}
		f := finding.Finding{Severity: finding.Warning, CRD: g.crd()}
		crd := l.head.CRD(g.crd())
		switch {
		case crd == nil && l.seesAll() && l.base.CRD(g.crd()) == nil:
			f.Place = g.object.Place("spec", "crdName")
			f.Why, f.Mend = fmt.Sprintf("VersionRemoval %s is for the CRD %s, which this cluster does not get", g.name(), g.crd()), "correct spec.crdName"
		case crd != nil && len(staying(crd, g)) > 0:
			f.Place = g.object.Place("spec", "versions")
			f.Why = fmt.Sprintf("VersionRemoval %s names %s, which the CRD still has: it may open long before the version leaves, and Argo CD need not look at it again then", g.name(), list(staying(crd, g)))
			f.Mend = "add it, or change it, in the commit that removes the version"
		default:
			continue
		}
		findings = append(findings, f)
	}
	return findings
}

// staying are the versions that a gate names and its CRD still has.
func staying(crd *delivery.Object, g gate) []string {
	var stay []string
	for _, v := range crd.Entries("spec", "versions") {
		if name := v.Text("name"); slices.Contains(g.versions(), name) {
			stay = append(stay, name)
		}
	}
	return stay
}

// before tells whether a gate was there already, with the same spec.
func (l *look) before(g gate) bool {
	return slices.ContainsFunc(l.baseGates, func(b gate) bool {
		return b.name() == g.name() && equality.Semantic.DeepEqual(b.object.Field("spec"), g.object.Field("spec"))
	})
}

func (l *look) seesAll() bool {
	return !slices.ContainsFunc(l.head.Units, (*delivery.Unit).Incomplete)
}

// list puts names into a sentence.
func list(names []string) string {
	if len(names) == 0 {
		return "no version"
	}
	return strings.Join(names, ", ")
}
