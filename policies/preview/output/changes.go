package output

import (
	"fmt"
	"slices"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
)

// versionGroup is what changes in one version, in one version held against another, or in the CRD as a whole.
type versionGroup struct {
	version, against string
	changes          []crddiff.Change
}

// byVersion keeps the order in which the versions come first.
func byVersion(changes []crddiff.Change) []versionGroup {
	var groups []versionGroup
	for _, c := range changes {
		i := slices.IndexFunc(groups, func(g versionGroup) bool { return g.version == c.Version && g.against == c.Against })
		if i < 0 {
			groups, i = append(groups, versionGroup{version: c.Version, against: c.Against}), len(groups)
		}
		groups[i].changes = append(groups[i].changes, c)
	}
	return groups
}

// mostHeldAgainst is how many changes are shown of a version that is held against another one. That may tell of every
// field that the two do not share, so that what changes in a version itself would not be found any more.
const mostHeldAgainst = 10

// shown are the changes that a person is to read, the gravest, and beyond are the others, which are counted.
func (g versionGroup) shown() (shown, beyond []crddiff.Change) {
	if g.against == "" || len(g.changes) <= mostHeldAgainst {
		return g.changes, nil
	}
	return g.changes[:mostHeldAgainst], g.changes[mostHeldAgainst:]
}

// more tells how many there are beyond, for example "and 290 more of the like: 290 warnings".
func more(beyond []crddiff.Change) string {
	return fmt.Sprintf("and %s more of the like: %s", grouped(int64(len(beyond))), tally(severitiesOfChanges(beyond)))
}

func severitiesOfChanges(changes []crddiff.Change) []finding.Severity {
	severities := make([]finding.Severity, len(changes))
	for i, c := range changes {
		severities[i] = c.Severity
	}
	return severities
}

func (g versionGroup) title() string {
	title, against := plain(g.version), plain(g.against)
	if title == "" {
		title = "all versions"
	}
	if against != "" {
		title += ", held against " + against
	}
	return title
}
