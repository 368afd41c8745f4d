package wiring

import (
	"fmt"

	"github.com/moult-dev/moult/policies/finding"
)

// The rules of the findings about a cluster's wiring.
const (
	// BuildFailed: a unit cannot be built, so its tool would fail, too, and what it holds is not known.
	BuildFailed = "BuildFailed"
	// NotFollowed: some of what a unit applies is not in this repository, and may hold CRDs, gates or further units.
	NotFollowed = "NotFollowed"
	// Pinned: a unit is taken from a tag or a commit, so what is merged does not reach the cluster until that moves.
	Pinned = "Pinned"
	// VariableUnknown: Flux puts a value into the manifests that is not in this repository.
	VariableUnknown = "VariableUnknown"
	// AppliedTwice: two units apply the same CRD, and each undoes what the other does.
	AppliedTwice = "AppliedTwice"
)

// find adds a finding about an object of this cluster.
func (c *Cluster) find(rule string, severity finding.Severity, by *Object, field []string, why, mend string) {
	f := finding.Finding{Rule: rule, Severity: severity, Cluster: c.Name, Why: why, Mend: mend}
	if by != nil {
		f.Place = by.At(field...)
	}
	c.Findings = append(c.Findings, f)
}

// report says what a person should know of a unit that was just made.
func (c *Cluster) report(u *Unit) {
	if u.Err != nil {
		c.find(BuildFailed, finding.Error, u.By, []string{"spec"}, fmt.Sprintf("%s cannot be built: %s", u.Name, u.Err), "")
	}
	if u.Unseen != "" {
		severity, mend := finding.Info, "to see that, too, render it and give the manifests to Moult"
		if u.Err == nil && u.Unseen == notHere(u) {
			severity, mend = finding.Warning, "correct the path; if it is in another repository, nothing is wrong"
		}
		c.find(NotFollowed, severity, u.By, []string{"spec"}, fmt.Sprintf("not all that %s applies is known: %s", u.Name, u.Unseen), mend)
	}
	if u.Pinned != "" {
		c.find(Pinned, finding.Info, u.By, []string{"spec"}, fmt.Sprintf("%s is taken from %s, and was read as it is in this tree", u.Name, u.Pinned), "")
	}
}
