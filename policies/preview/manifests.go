package preview

import (
	"fmt"
	"slices"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/manifests"
	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/words"
)

// Rules of preview's own findings.
const (
	// NameRefused: a CRD is not called by its plural and group, so the API server refuses it.
	NameRefused = "NameRefused"
	// AppliedAtRemovedVersion: a cluster gets a manifest written at a version that it will not have.
	AppliedAtRemovedVersion = "AppliedAtRemovedVersion"
	// AppliedAtUnservedVersion: a cluster gets a manifest written at a version that it stops serving.
	AppliedAtUnservedVersion = "AppliedAtUnservedVersion"
	// UsedAtUnservedVersion: clients use a version that the cluster stops serving.
	UsedAtUnservedVersion = "UsedAtUnservedVersion"
	// WrittenAtRemovedVersion: a file of the repository names a version that leaves; no cluster that was looked at gets it.
	WrittenAtRemovedVersion = "WrittenAtRemovedVersion"
)

// leftBehind finds the manifests that a cluster gets and that its API server will not take any more: at a version that
// leaves, or that it stops serving.
func leftBehind(d Delivered, changes []crddiff.Diff) []finding.Finding {
	var found []finding.Finding
	for _, c := range changes {
		unserved := c.Unserved
		if len(c.Removed)+len(unserved) == 0 {
			continue
		}
		for unit, object := range d.Head.Cluster.Objects() {
			gvk := object.GroupVersionKind()
			if gvk.Group != c.Head.Group || gvk.Kind != c.Kind {
				continue
			}
			f := finding.Finding{Rule: AppliedAtRemovedVersion, Severity: finding.Error, CRD: c.Name, Cluster: d.Name, Remediation: mendManifest(c.Head.Conversion)}
			why := "which the API server will not know any more"
			switch {
			case slices.Contains(c.Removed, gvk.Version):
			case slices.Contains(unserved, gvk.Version):
				f.Rule, why = AppliedAtUnservedVersion, "which the API server will not serve any more"
			default:
				continue
			}
			f.Place = object.Place("apiVersion")
			f.Why = fmt.Sprintf("%s applies %s %s at %s, %s, so the whole sync fails",
				unit.Name, c.Kind, words.FullName(object.GetNamespace(), object.GetName()), gvk.Version, why)
			found = append(found, f)
		}
	}
	return found
}

// shutOut finds clients of a cluster that use versions which it stops serving.
func shutOut(d Delivered, changes []crddiff.Diff) []finding.Finding {
	if d.Snapshot == nil {
		return nil
	}
	var found []finding.Finding
	for _, c := range changes {
		unserved := c.Unserved
		if len(unserved) == 0 {
			continue
		}
		for _, client := range d.Snapshot.Clients(snapshot.Ask{CRD: c.Name, Versions: unserved, Storage: c.Head.Storage}) {
			found = append(found, finding.Finding{
				Rule: UsedAtUnservedVersion, Severity: finding.Warning, CRD: c.Name, Cluster: d.Name, Place: d.place(c.Name),
				Why: client.Message + "; that fails once the version is not served", Remediation: client.Action,
			})
		}
	}
	return found
}

func mendManifest(conversion string) string {
	if conversion == "None" {
		return "`moult rewrite` writes it at the storage version"
	}
	return "write it at the storage version by hand, because a webhook converts it; `kubectl get -o yaml` shows the converted object"
}

// addManifests lists what the files of the repository still say, and warns of what no finding names already.
func (r *Report) addManifests(references []manifests.Reference, mayBeApplied func(file string) bool) {
	for _, reference := range references {
		crd := r.crdOf(reference)
		r.Manifests = append(r.Manifests, Manifest{
			Place: reference.Place, CRD: crd, Version: reference.Version, Object: reference.Object(), Rewritable: reference.Why == "",
		})
		if slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return isApplied(f.Rule) && f.Place == reference.Place }) {
			continue
		}
		f := finding.Finding{
			Rule: WrittenAtRemovedVersion, Severity: finding.Warning, CRD: crd, Place: reference.Place,
			Why:         fmt.Sprintf("%s is still written at %s, which %s; applying it later fails", reference.Object(), reference.Version, r.fateOf(crd, reference.Version)),
			Remediation: "`moult rewrite` writes it at the storage version",
		}
		if mayBeApplied != nil && reference.Role == manifests.Object && mayBeApplied(reference.Place.File) {
			f.Severity = finding.Error
		}
		if reference.Role == manifests.HealthCheck {
			f.Severity = finding.Error
			f.Why = fmt.Sprintf("Flux waits for %s at %s, which %s, so that it never gets ready", reference.Object(), reference.Version, r.fateOf(crd, reference.Version))
		}
		if reference.Why != "" {
			f.Remediation = "a person has to change it: " + reference.Why
		}
		r.Findings = append(r.Findings, f)
	}
}

// isApplied reports whether a finding is about a manifest that a cluster gets.
func isApplied(rule string) bool {
	return rule == AppliedAtRemovedVersion || rule == AppliedAtUnservedVersion
}

// fateOf is what becomes of a version, after "which".
func (r *Report) fateOf(crd, version string) string {
	i := slices.IndexFunc(r.CRDs, func(c ChangedCRD) bool { return c.Name == crd })
	if i >= 0 && slices.Contains(r.CRDs[i].Unserved, version) {
		return "is no longer served"
	}
	return "leaves"
}

func (r *Report) crdOf(reference manifests.Reference) string {
	for _, c := range r.CRDs {
		if c.Kind == reference.Kind && c.Head != nil && c.Head.Group == reference.Group {
			return c.Name
		}
	}
	return ""
}
