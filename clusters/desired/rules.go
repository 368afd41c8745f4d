package desired

import (
	"fmt"

	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/finding"
)

// The rules of the findings about what a cluster gets.
const (
	// BuildFailed: a unit cannot be built, so its tool would fail, too, and what it holds is not known.
	BuildFailed = "BuildFailed"
	// Pinned: a unit is taken from a tag or a commit, so what is merged does not reach the cluster until that moves.
	Pinned = "Pinned"
	// VariableUnknown: Flux puts a value into the manifests that is not in this repository.
	VariableUnknown = "VariableUnknown"
	// AppliedTwice: two units apply the same CRD, and each undoes what the other does.
	AppliedTwice = "AppliedTwice"
	// SnapshotAmongManifests: a file that moult snapshot wrote lies where a tool takes every file for a manifest.
	SnapshotAmongManifests = "SnapshotAmongManifests"
)

// find adds a finding about an object of this cluster.
func (c *Cluster) find(rule string, severity finding.Severity, by *Object, field []string, why, mend string) {
	f := finding.Finding{Rule: rule, Severity: severity, Cluster: c.Name, Why: why, Mend: mend}
	if by != nil {
		f.Place = by.At(field...)
	}
	c.Findings = append(c.Findings, f)
}

func (u *Unit) whyNotBuilt() string { return fmt.Sprintf("%s cannot be built: %s", u.Name, u.Err) }

// Blames tells whether a finding is that the unit cannot be built.
func (u *Unit) Blames(f finding.Finding) bool {
	return u.Err != nil && f.Rule == BuildFailed && f.Why == u.whyNotBuilt()
}

// report says what a person should know of a unit that was just made.
func (c *Cluster) report(u *Unit) {
	if u.Err != nil {
		c.find(BuildFailed, finding.Error, u.By, []string{"spec"}, u.whyNotBuilt(), "")
	}
	if u.Pinned != "" {
		c.find(Pinned, finding.Info, u.By, []string{"spec"}, fmt.Sprintf("%s is taken from %s, and was read as it is in this tree", u.Name, u.Pinned), "")
	}
}

// reportSnapshots says that Flux and Argo CD would not pass over what we have left out.
func (c *Cluster) reportSnapshots(t *repository.Tree, files []string) {
	for _, file := range files {
		c.Findings = append(c.Findings, finding.Finding{
			Rule: SnapshotAmongManifests, Severity: finding.Warning, Cluster: c.Name, Place: finding.Place{File: t.Relative(file)},
			Why:  "it is a snapshot of Moult, and Flux and Argo CD take every file of this folder for a manifest, so their next sync fails",
			Mend: "move it out of the entry point, for example to snapshots/",
		})
	}
}
