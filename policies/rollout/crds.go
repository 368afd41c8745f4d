package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// allowStorage names versions that the storage may move to at once; policies/admission knows it, too.
const allowStorage = "moult.dev/allow-storage"

// flipWithRemoval: the objects are still written at the version that leaves while its migration is to begin.
func flipWithRemoval(_ *situation, crd changedCRD) *finding.Finding {
	if !crd.Flips() || crd.Head.Has(crd.Base.Storage) {
		return nil
	}
	was, is := crd.Base.Storage, crd.Head.Storage
	f := &finding.Finding{
		Severity: finding.Error, CRD: crd.Name, Place: crd.object.Place("spec", "versions"),
		Why:         fmt.Sprintf("every object is stored at %s until this commit is applied, and this commit removes %s: the API server refuses it", was, was),
		Remediation: fmt.Sprintf("first store at %s and keep %s, then remove it with a later commit; `moult bridge` prints the CRD in between", is, was),
	}
	if version.CompareKubeAwareVersionStrings(is, was) < 0 {
		f.Why = fmt.Sprintf("this goes back from %s to %s: %s", was, is, f.Why)
		f.Remediation = fmt.Sprintf("commit this first, in place of it: spec.versions: [{name: %s, served: true, storage: false}, {name: %s, served: true, storage: true}]; `moult bridge --keep-storage` prints the whole CRD. `moult plan %s --back-to %s` prints all of the steps", is, was, crd.Name, is)
	}
	return f
}

// flipNotServed: an API server that has not yet seen the version cannot read what another one stores at it.
func flipNotServed(s *situation, crd changedCRD) *finding.Finding {
	if !crd.Flips() || !crd.Head.Has(crd.Base.Storage) {
		return nil
	}
	to := crd.Head.Storage
	if was, _ := crd.Base.Version(to); was.Served || s.allowsStorage(crd, to) {
		return nil
	}
	return &finding.Finding{
		Severity: finding.Warning, CRD: crd.Name, Place: crd.object.Place("spec", "versions"),
		Why:         fmt.Sprintf("the storage moves to %s, which was not served until now, so API servers and clients may not know it yet", to),
		Remediation: fmt.Sprintf("first serve %s, and move the storage with a later commit", to),
	}
}

// allowsStorage reports whether the CRD says, or has said, that its storage may move to a version at once.
func (s *situation) allowsStorage(crd changedCRD, version string) bool {
	allowed := crd.object.Annotation(allowStorage)
	if before := s.base.CRD(crd.Name); before != nil {
		allowed += "," + before.Annotation(allowStorage)
	}
	return slices.Contains(strings.FieldsFunc(allowed, func(r rune) bool { return r == ',' || r == ' ' }), version)
}

// labelDropped: what is not opted in is not migrated. The value "false" shows intent.
func labelDropped(s *situation, crd changedCRD) *finding.Finding {
	now := delivery.CRD{Object: crd.object}
	if !crd.Base.OptedIn() || now.OptedIn(s.labelKey) || now.Excluded(s.labelKey) {
		return nil
	}
	f := &finding.Finding{
		Severity: finding.Warning, CRD: crd.Name, Place: crd.object.Place("metadata", "labels", s.labelKey),
		Why:         fmt.Sprintf("in %s the CRD loses the label %s, and is not migrated any more", crd.node.unit.Name, s.labelKey),
		Remediation: fmt.Sprintf("put it back, or confirm that you want this with %s: %q", s.labelKey, v1alpha1.MigrateLabelExcluded),
	}
	if len(crd.Removed) > 0 || crd.Flips() {
		f.Severity = finding.Error
	}
	if len(s.gatesOn(crd.Name)) > 0 {
		f.Severity = finding.Error
		f.Why += "; its VersionRemoval then stalls, and everything that waits for it waits for ever, including a commit that puts the label back"
	}
	return f
}

// gone is a CRD that a unit of the base applies, and the same unit of the head does not.
type gone struct {
	object *delivery.Object
	unit   *delivery.Unit // of the base
	to     *delivery.Unit // of the head, nil if no unit applies the CRD
	// replaced: the same release has the CRD, and becomes another one by its name or namespace.
	replaced bool
}

// ReplacesRelease reports whether a HelmRelease is to be another release from now on: Flux uninstalls the one before.
// https://fluxcd.io/flux/components/helm/helmreleases/#release-name
func ReplacesRelease(was, now *delivery.Unit) bool {
	if now == nil || was.Tool != delivery.Helm || now.Tool != delivery.Helm || was.By == nil || now.By == nil {
		return false
	}
	return releaseOfHelm(was) != releaseOfHelm(now)
}

// releaseOfHelm is by what helm-controller knows a release again: its name, both namespaces, and the chart's name.
func releaseOfHelm(u *delivery.Unit) [4]string {
	own, target := u.By.GetNamespace(), u.By.Text("spec", "targetNamespace")
	name := u.By.GetName()
	if target != "" {
		name = target + "-" + name
	}
	chart := ""
	if len(u.Charts) > 0 {
		chart, _, _ = strings.Cut(u.Charts[0], " ")
	}
	return [4]string{cmp.Or(u.By.Text("spec", "releaseName"), name), cmp.Or(target, own), cmp.Or(u.By.Text("spec", "storageNamespace"), own), chart}
}

func (s *situation) gone() []gone {
	var found []gone
	for unit, object := range s.base.Objects() {
		now := s.head.Unit(unit.Name)
		replaced := ReplacesRelease(unit, now)
		if !object.IsCRD() || now != nil && (now.Holds(object) && !replaced || now.Incomplete()) {
			continue
		}
		if unit.Tool == delivery.Helm && isUnseen(s.head, unit) {
			continue // unseenChanged says that it is no longer rendered
		}
		g := gone{object: object, unit: unit, replaced: replaced}
		for _, other := range s.head.Units {
			if other.Holds(object) {
				g.to = other
			}
		}
		found = append(found, g)
	}
	return found
}

// crdPruned: Flux and Helm delete what they applied and no longer find, if the object does not forbid it. Argo CD does
// not track CRDs, and deletes none.
func crdPruned(s *situation, g gone) *finding.Finding {
	if !s.prunes(g) {
		return nil
	}
	f := &finding.Finding{
		Severity: finding.Error, CRD: g.object.GetName(), Place: s.placeOfGone(g),
		Why:         fmt.Sprintf("%s does not hold the CRD any more and has prune: true, so Flux deletes the CRD with all its objects", g.unit.Name),
		Remediation: "first annotate the CRD with kustomize.toolkit.fluxcd.io/prune: disabled and let that be applied, then take it out",
	}
	if g.unit.Tool == delivery.Helm {
		f.Why = fmt.Sprintf("%s does not hold the CRD any more, so Helm deletes the CRD with all its objects", g.unit.Name)
		f.Remediation = "first annotate the CRD with " + HelmPolicy + ": keep and let that be applied, then take it out"
		if g.replaced {
			f.Why = fmt.Sprintf("%s becomes another release by its name, namespace or chart, so Flux uninstalls the one before, and Helm deletes the CRD with all its objects", g.unit.Name)
			f.Remediation = "first annotate the CRD with " + HelmPolicy + ": keep and let that be applied, then change the release"
		}
		return f
	}
	if g.to != nil {
		f.Why = fmt.Sprintf("the CRD moves from %s, which has prune: true, to %s: if %s comes first, Flux deletes the CRD with all its objects", g.unit.Name, g.to.Name, g.unit.Name)
	}
	return f
}

// placeOfGone is where the head says what becomes of a CRD that it has no more: at the unit that held it, and nowhere if
// that no longer exists either. The CRD's own file may be deleted, and findings are read beside the files of the head.
func (s *situation) placeOfGone(g gone) finding.Place {
	now := s.head.Unit(g.unit.Name)
	switch {
	case now == nil || now.By == nil:
		return finding.Place{}
	case now.Tool == delivery.Flux:
		return now.By.Place("spec", "prune")
	}
	return now.By.Place("spec")
}

// HelmPolicy is the annotation that keeps Helm from deleting an object, with the value keep.
// https://helm.sh/docs/howto/charts_tips_and_tricks/#tell-helm-not-to-uninstall-a-resource
const HelmPolicy = "helm.sh/resource-policy"

// prunes reports whether the CRD is deleted: by its Kustomization, as it is to be, or with its Kustomization, as it was.
func (s *situation) prunes(g gone) bool {
	if g.unit.Tool == delivery.Helm {
		return !keptByHelm(g.unit, g.object)
	}
	if g.unit.Tool != delivery.Flux || keptByFlux(g.object) {
		return false
	}
	if now := s.head.Unit(g.unit.Name); now != nil && now.By != nil {
		return now.By.True("spec", "prune")
	}
	return deletesAll(g.unit.By)
}

// keptByHelm reports whether Helm leaves an object of a release in the cluster.
func keptByHelm(release *delivery.Unit, object *delivery.Object) bool {
	return slices.Contains(release.Kept, object) || object.Annotation(HelmPolicy) == "keep"
}

// keptByFlux reports whether Flux leaves an object in the cluster.
func keptByFlux(object *delivery.Object) bool {
	const setting = delivery.FluxGroup + "/prune"
	return object.Annotation(setting) == "disabled" || object.Text("metadata", "labels", setting) == "disabled"
}

// deletesAll reports whether a Kustomization deletes what it has applied when it is deleted itself.
func deletesAll(kustomization *delivery.Object) bool {
	switch kustomization.Text("spec", "deletionPolicy") {
	case "Delete":
		return true
	case "Orphan":
		return false
	}
	return kustomization.True("spec", "prune")
}

// crdLeft: no tool manages it from then on.
func crdLeft(s *situation, g gone) *finding.Finding {
	if g.to != nil || s.prunes(g) {
		return nil
	}
	return &finding.Finding{
		Severity: finding.Info, CRD: g.object.GetName(), Place: s.placeOfGone(g),
		Why: fmt.Sprintf("%s does not hold the CRD any more; it stays in the cluster with its objects, and nothing applies it", g.unit.Name),
	}
}
