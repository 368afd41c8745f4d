package desired

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// The rules of the findings about what a cluster gets, beside those of delivery.
const (
	// Pinned: a unit is taken from a tag or a commit, so what is merged does not reach the cluster until that moves.
	Pinned = "Pinned"
	// VariableUnknown: Flux puts a value into the manifests that is not in this repository.
	VariableUnknown = "VariableUnknown"
	// SnapshotAmongManifests: a file that moult snapshot wrote lies where a tool takes every file for a manifest.
	SnapshotAmongManifests = "SnapshotAmongManifests"
)

// find adds a finding about an object of this cluster.
func (f *follower) find(rule string, severity finding.Severity, by *delivery.Object, field []string, why, fix string) {
	f.cluster.Findings = append(f.cluster.Findings, finding.Finding{
		Rule: rule, Severity: severity, Cluster: f.cluster.Name, Place: by.Place(field...), Why: why, Remediation: fix,
	})
}

// report says what a person should know of a unit that was just made.
func (f *follower) report(u *delivery.Unit) {
	if u.Err != nil {
		f.find(delivery.BuildFailed, finding.Error, u.By, []string{"spec"}, u.WhyNotBuilt(), "")
	}
	if u.Pinned != "" && len(u.Dirs) > 0 {
		f.find(Pinned, finding.Info, u.By, []string{"spec"}, fmt.Sprintf("%s is taken from %s, and was read as it is in this tree", u.Name, u.Pinned), "")
	}
}

// reportSnapshots says that Flux and Argo CD would not pass over what we have left out.
func (f *follower) reportSnapshots(files []string) {
	for _, file := range files {
		f.cluster.Findings = append(f.cluster.Findings, finding.Finding{
			Rule: SnapshotAmongManifests, Severity: finding.Warning, Cluster: f.cluster.Name, Place: finding.Place{File: f.tree.Relative(file)},
			Why:         "it is a snapshot of Moult, and Flux and Argo CD take every file of this folder for a manifest, so their next sync fails",
			Remediation: "move it out of the entry point, for example to snapshots/",
		})
	}
}

// leaveToTools takes from a folder that is looked at as a whole, because no entry point was named, what a Kustomization or
// an Application in it applies: nothing else does.
func (f *follower) leaveToTools() {
	if f.tree == nil || f.cluster.Name != f.tree.Name || render.KustomizationIn(f.tree.Dir) != "" {
		return
	}
	whole := f.cluster.Units[0]
	if whole.Tool != "" || whole.Err != nil {
		return
	}
	whole.Objects = slices.DeleteFunc(whole.Objects, func(object *delivery.Object) bool {
		return slices.ContainsFunc(f.cluster.Units[1:], func(u *delivery.Unit) bool { return u.Holds(object) })
	})
}

// findTwice finds CRDs that two units apply.
func (f *follower) findTwice() {
	crds := f.cluster.CRDs()
	for i := 1; i < len(crds); i++ {
		one, other := crds[i-1], crds[i]
		if one.GetName() != other.GetName() || one.Unit.Destination() != other.Unit.Destination() {
			continue
		}
		if one.Unit != other.Unit && one.Unit.By != nil && other.Unit.By != nil && one.Unit.By.Same(other.Unit.By) {
			continue // the cluster has one of them
		}
		twice := finding.Finding{
			Rule: delivery.AppliedTwice, Severity: finding.Warning, Cluster: f.cluster.Name, CRD: other.GetName(), Place: other.At(),
			Why:         fmt.Sprintf("both %s and %s apply it, and it is the same in both; once one of them gets another release, each undoes what the other has applied", one.Unit.Name, other.Unit.Name),
			Remediation: "leave it in one of them",
		}
		if !reflect.DeepEqual(one.Object.Object["spec"], other.Object.Object["spec"]) {
			twice.Severity = finding.Error // which of them counts is not known, and a version may be in one of them only
			twice.Why = fmt.Sprintf("%s and %s apply it, and they differ, so it changes with every reconciliation", one.Unit.Name, other.Unit.Name)
		}
		if one.Unit == other.Unit {
			twice.Why, twice.Remediation = fmt.Sprintf("%s holds it twice, and the later one counts", one.Unit.Name), "leave one of them"
		}
		f.cluster.Findings = append(f.cluster.Findings, twice)
	}
}
