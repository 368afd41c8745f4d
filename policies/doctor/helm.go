package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/words"
)

// history is all stored revisions of one release, in their order.
type history []Release

func (h history) name() string { return h[0].Namespace + "/" + h[0].Name }

// latest is what an uninstall acts on, whatever became of it.
func (h history) latest() Release { return h[len(h)-1] }

// deployed is what an upgrade starts from.
func (h history) deployed() Release {
	for _, r := range slices.Backward(h) {
		if r.Status == "deployed" {
			return r
		}
	}
	return h.latest()
}

func histories(releases []Release) []history {
	by := map[string]history{}
	for _, r := range releases {
		key := r.Namespace + "/" + r.Name
		by[key] = append(by[key], r)
	}
	var all []history
	for _, key := range slices.Sorted(maps.Keys(by)) {
		slices.SortFunc(by[key], func(a, b Release) int { return cmp.Compare(a.Revision, b.Revision) })
		if by[key].latest().Status != "uninstalled" {
			all = append(all, by[key])
		}
	}
	return all
}

// helm asks about each CRD and each release.
func (c ClusterState) helm(passed string, find func(ExaminedCRD, history) []finding.Finding) Result {
	if c.Releases.Not != "" {
		return Result{Outcome: NotRun, Evidence: c.Releases.Not, NotAsked: c.Releases.NotAsked}
	}
	all := histories(c.Releases.Value)
	return Result{Evidence: passed, NotSeen: c.ReleasesNotSeen, Findings: c.all(func(crd ExaminedCRD) (findings []finding.Finding) {
		for _, h := range all {
			findings = append(findings, find(crd, h)...)
		}
		return findings
	})}
}

// helmKeep: an uninstall reads the stored manifest, and not what is live.
func helmKeep(c ClusterState) Result {
	return c.helm("no uninstall of a release deletes one of the CRDs", func(crd ExaminedCRD, h history) []finding.Finding {
		kept, held := h.latest().CRDs[crd.Name]
		if !held || kept {
			return nil
		}
		f := finding.Finding{Severity: finding.Warning, Object: crd.Name,
			Why:         fmt.Sprintf("`helm uninstall` of release %s would delete the CRD and all its objects: its manifest does not say %s: keep", h.name(), keep),
			Remediation: fmt.Sprintf("put the annotation %s: keep into the chart's template and upgrade the release once", keep)}
		if keeps(crd.Annotations) {
			f.Severity = finding.Error
			f.Why = fmt.Sprintf("%s: keep is on the live CRD only; `helm uninstall` of release %s reads its stored manifest (revision %d) and would delete the CRD and all its objects",
				keep, h.name(), h.latest().Revision)
		}
		return []finding.Finding{f}
	})
}

// helmCRDs: the folder crds is for the first install.
func helmCRDs(c ClusterState) Result {
	return c.helm("no CRD depends on a chart's folder crds", func(crd ExaminedCRD, h history) []finding.Finding {
		r := h.latest()
		_, held := r.CRDs[crd.Name]
		by := labelorigin.Of(crd, c.LabelKey).Tool
		if !r.Files[crd.Name] || held || by != labelorigin.Helm && by != labelorigin.NoTool {
			return nil // or another tool brings the changes
		}
		return []finding.Finding{{Severity: finding.Warning, Object: crd.Name,
			Why:         fmt.Sprintf("release %s has the CRD in its chart's folder crds, which Helm installs once and never upgrades: an upgrade brings no label and no other version", h.name()),
			Remediation: "apply the CRD from Git beside the chart, or move it to the chart's templates with " + keep + ": keep"}}
	})
}

// helmHistory: Helm builds the objects of the old manifest before it changes, rolls back to, or deletes anything.
func helmHistory(c ClusterState) Result {
	return c.helm("no stored revision uses a version that is to go", func(crd ExaminedCRD, h history) []finding.Finding {
		going, asked := c.leaving(crd), true
		if len(going) == 0 {
			going, asked = crd.older(), false
		}
		return append(brokenUpgrade(crd, h, going, asked), brokenRollback(crd, h, going)...)
	})
}

// brokenUpgrade is an error if the version is asked to go, or is not served, and else a warning: Helm asks the API server for the
// kinds that it serves.
func brokenUpgrade(crd ExaminedCRD, h history, going []string, asked bool) []finding.Finding {
	now := h.deployed()
	used := now.uses(crd, going)
	if len(used) == 0 {
		return nil
	}
	severity := finding.Warning
	if asked || slices.ContainsFunc(used, func(version string) bool { return !slices.Contains(crds.Served(crd.CustomResourceDefinition), version) }) {
		severity = finding.Error
	}
	n := 0
	for _, version := range used {
		n += now.Uses[crd.at(version)]
	}
	return []finding.Finding{{Severity: severity, Object: crd.Name,
		Why: fmt.Sprintf("release %s holds %s at %s in its deployed revision %d; where that version is not served, `helm upgrade` and `helm uninstall` fail",
			h.name(), words.Count(n, crd.Spec.Names.Kind), strings.Join(used, ", "), now.Revision),
		Remediation: "move the chart to " + crds.StorageVersion(crd.CustomResourceDefinition) + " and upgrade the release once, while the version is served"}}
}

// brokenRollback names the older revisions in one line: ten of them are usual.
func brokenRollback(crd ExaminedCRD, h history, going []string) []finding.Finding {
	var revisions, versions []string
	for _, r := range h {
		if used := r.uses(crd, going); len(used) > 0 && r.Revision != h.deployed().Revision {
			revisions, versions = append(revisions, strconv.Itoa(r.Revision)), append(versions, used...)
		}
	}
	if len(revisions) == 0 {
		return nil
	}
	slices.Sort(versions)
	versions = slices.Compact(versions)
	return []finding.Finding{{Severity: finding.Warning, Object: crd.Name,
		Why: fmt.Sprintf("`helm rollback` of release %s to revision %s fails where %s %s not served",
			h.name(), strings.Join(revisions, ", "), strings.Join(versions, ", "), words.Agree(len(versions), "is", "are")),
		Remediation: "do not roll back to them; roll forward instead"}}
}

// uses are the versions of a CRD that a revision's manifest needs and that go, or are gone, sorted.
func (r Release) uses(crd ExaminedCRD, going []string) (versions []string) {
	for gvk := range r.Uses {
		if gvk == crd.at(gvk.Version) && (slices.Contains(going, gvk.Version) || !crds.Has(crd.CustomResourceDefinition, gvk.Version)) {
			versions = append(versions, gvk.Version)
		}
	}
	slices.Sort(versions)
	return versions
}
