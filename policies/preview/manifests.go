package preview

import (
	"fmt"
	"slices"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/manifests"
)

// Rules of preview's own findings.
const (
	// NameRefused: a CRD is not called by its plural and group, so the API server refuses it.
	NameRefused = "NameRefused"
	// AppliedAtRemovedVersion: a cluster gets a manifest written at a version that it will not have.
	AppliedAtRemovedVersion = "AppliedAtRemovedVersion"
	// WrittenAtRemovedVersion: a file of the repository names a version that leaves; no cluster that was looked at gets it.
	WrittenAtRemovedVersion = "WrittenAtRemovedVersion"
)

// leftBehind finds the manifests that a cluster gets and that the API server will not know any more.
func leftBehind(d Delivered, changes []crddiff.Diff) []finding.Finding {
	var found []finding.Finding
	for _, c := range changes {
		if len(c.Removed) == 0 {
			continue
		}
		for unit, object := range d.Head.Cluster.Objects() {
			gvk := object.GroupVersionKind()
			if gvk.Group != c.Head.Group || gvk.Kind != c.Kind || !slices.Contains(c.Removed, gvk.Version) {
				continue
			}
			found = append(found, finding.Finding{
				Rule: AppliedAtRemovedVersion, Severity: finding.Error, CRD: c.Name, Cluster: d.Name, Place: object.Place("apiVersion"),
				Why: fmt.Sprintf("%s applies %s %s at %s, which the API server will not know any more, so the whole sync fails",
					unit.Name, c.Kind, delivery.FullName(object.GetNamespace(), object.GetName()), gvk.Version),
				Mend: mendManifest(c.Head.Conversion),
			})
		}
	}
	return found
}

func mendManifest(conversion string) string {
	if conversion == "None" {
		return "`moult rewrite` writes it at the storage version"
	}
	return "write it at the storage version; what has to change in it only the conversion webhook knows"
}

// addManifests lists what the files of the repository still say, and warns of what no finding names already.
func (r *Report) addManifests(references []manifests.Reference) {
	for _, reference := range references {
		crd := r.crdOf(reference)
		r.Manifests = append(r.Manifests, Manifest{
			Place: reference.Place, CRD: crd, Version: reference.Version, Object: reference.Object(), Rewritable: reference.Why == "",
		})
		if slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Rule == AppliedAtRemovedVersion && f.Place == reference.Place }) {
			continue
		}
		f := finding.Finding{
			Rule: WrittenAtRemovedVersion, Severity: finding.Warning, CRD: crd, Place: reference.Place,
			Why:  fmt.Sprintf("%s is still written at %s, which leaves; applying it later fails", reference.Object(), reference.Version),
			Mend: "`moult rewrite` writes it at the storage version",
		}
		if reference.Role == manifests.HealthCheck {
			f.Severity = finding.Error
			f.Why = fmt.Sprintf("Flux waits for %s at %s, which leaves, so that it never gets ready", reference.Object(), reference.Version)
		}
		if reference.Why != "" {
			f.Mend = "a person has to change it: " + reference.Why
		}
		r.Findings = append(r.Findings, f)
	}
}

func (r *Report) crdOf(reference manifests.Reference) string {
	for _, c := range r.CRDs {
		if c.Kind == reference.Kind && c.Head != nil && c.Head.Group == reference.Group {
			return c.Name
		}
	}
	return ""
}
