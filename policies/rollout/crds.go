package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// allowStorage names versions that the storage may move to at once; policies/admission knows it, too.
const allowStorage = "moult.dev/allow-storage"

// flipWithRemoval: the objects are still written at the version that leaves while its migration is to begin.
func flipWithRemoval(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, d := range l.removals() {
		if !d.Flips() || d.Head.Has(d.Base.Storage) {
			continue
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Error, CRD: d.Name, Place: d.object.Place("spec", "versions"),
			Why:  fmt.Sprintf("every object is stored at %s until this commit is applied, and this commit removes %s: the API server refuses it", d.Base.Storage, d.Base.Storage),
			Mend: fmt.Sprintf("first store at %s and keep %s, then remove it with a later commit; `moult bridge` prints the CRD in between", d.Head.Storage, d.Base.Storage),
		})
	}
	return findings
}

// flipNotServed: an API server that has not yet seen the version cannot read what another one stores at it.
func flipNotServed(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, d := range l.changed {
		if !d.Flips() || !d.Head.Has(d.Base.Storage) || slices.ContainsFunc(d.Base.Versions, func(v crddiff.Version) bool { return v.Name == d.Head.Storage && v.Served }) {
			continue
		}
		allowed := d.object.Annotation(allowStorage)
		if before := l.base.CRD(d.Name); before != nil {
			allowed += "," + before.Annotation(allowStorage)
		}
		if slices.Contains(strings.FieldsFunc(allowed, func(r rune) bool { return r == ',' || r == ' ' }), d.Head.Storage) {
			continue
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Warning, CRD: d.Name, Place: d.object.Place("spec", "versions"),
			Why:  fmt.Sprintf("the storage moves to %s, which was not served until now, so API servers and clients may not know it yet", d.Head.Storage),
			Mend: fmt.Sprintf("first serve %s, and move the storage with a later commit", d.Head.Storage),
		})
	}
	return findings
}

// labelDropped: what is not opted in is not migrated. The value "false" says that it is meant.
func labelDropped(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, d := range l.changed {
		label, _ := d.object.Field("metadata", "labels", l.labelKey).(string)
		if !d.Base.OptedIn() || label == "true" || label == v1alpha1.MigrateLabelExcluded {
			continue
		}
		f := finding.Finding{
			Severity: finding.Warning, CRD: d.Name, Place: d.object.Place("metadata", "labels", l.labelKey),
			Why:  fmt.Sprintf("in %s the CRD loses the label %s, and is not migrated any more", d.node.unit.Name, l.labelKey),
			Mend: fmt.Sprintf(`put it back, or say that it is meant with %s: "%s"`, l.labelKey, v1alpha1.MigrateLabelExcluded),
		}
		if len(d.Removed) > 0 || d.Flips() {
			f.Severity = finding.Error
		}
		if slices.ContainsFunc(l.gates, func(g gate) bool { return g.crd() == d.Name }) {
			f.Severity = finding.Error
			f.Why += "; its VersionRemoval then stalls, and what waits for it, the label's return included, waits for ever"
		}
		findings = append(findings, f)
	}
	return findings
}

// gone is a CRD that a unit of the base applies, and the same unit of the head does not.
type gone struct {
	object *delivery.Object
	unit   *delivery.Unit // of the base
	to     *delivery.Unit // of the head, nil if no unit applies the CRD
}

func (l *look) gone() []gone {
	var found []gone
	for _, u := range l.base.Units {
		for _, object := range u.Objects {
			if !object.IsCRD() || l.head.Unit(u.Name) != nil && (l.head.Unit(u.Name).Holds(object) || l.head.Unit(u.Name).Incomplete()) {
				continue
			}
			g := gone{object: object, unit: u}
			for j := range l.head.Units {
				if l.head.Units[j].Holds(object) {
					g.to = l.head.Units[j]
				}
			}
			found = append(found, g)
		}
	}
	return found
}

// crdPruned: Flux deletes what it applied and does not find any more, unless the object says otherwise. Argo CD does not
// track CRDs, and deletes none.
func crdPruned(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, g := range l.gone() {
		if !l.prunes(g) {
			continue
		}
		f := finding.Finding{
			Severity: finding.Error, CRD: g.object.GetName(), Place: l.placeOfGone(g),
			Why:  fmt.Sprintf("%s does not hold the CRD any more and has prune: true, so Flux deletes the CRD with all its objects", g.unit.Name),
			Mend: "first annotate the CRD with kustomize.toolkit.fluxcd.io/prune: disabled and let that be applied, then take it out",
		}
		if g.to != nil {
			f.Why = fmt.Sprintf("the CRD moves from %s, which has prune: true, to %s: if %s comes first, Flux deletes the CRD with all its objects", g.unit.Name, g.to.Name, g.unit.Name)
		}
		findings = append(findings, f)
	}
	return findings
}

// placeOfGone is where the head says what becomes of a CRD that it has no more: at the unit that held it, and nowhere if
// that is gone, too. The CRD's own file may be gone, and findings are read beside the files of the head.
func (l *look) placeOfGone(g gone) finding.Place {
	now := l.head.Unit(g.unit.Name)
	switch {
	case now == nil || now.By == nil:
		return finding.Place{}
	case now.Tool == delivery.Flux:
		return now.By.Place("spec", "prune")
	}
	return now.By.Place("spec")
}

// prunes tells whether the CRD is deleted: by its Kustomization, as it is to be, or with its Kustomization, as it was.
func (l *look) prunes(g gone) bool {
	const setting = "kustomize.toolkit.fluxcd.io/prune"
	if g.unit.Tool != delivery.Flux || g.object.Annotation(setting) == "disabled" || g.object.Text("metadata", "labels", setting) == "disabled" {
		return false
	}
	if now := l.head.Unit(g.unit.Name); now != nil && now.By != nil {
		return now.By.True("spec", "prune")
	}
	switch g.unit.By.Text("spec", "deletionPolicy") {
	case "Delete":
		return true
	case "Orphan":
		return false
	}
	return g.unit.By.True("spec", "prune")
}

// crdLeft: nobody looks after it from then on.
func crdLeft(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, g := range l.gone() {
		if g.to != nil || l.prunes(g) {
			continue
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Info, CRD: g.object.GetName(), Place: l.placeOfGone(g),
			Why: fmt.Sprintf("%s does not hold the CRD any more; it stays in the cluster with its objects, and nothing applies it", g.unit.Name),
		})
	}
	return findings
}
