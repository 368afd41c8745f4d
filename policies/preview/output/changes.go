package output

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
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

// Shown are the changes that a person is to read, the gravest.
func (g versionGroup) Shown() []crddiff.Change {
	if g.against == "" {
		return g.changes
	}
	return g.changes[:min(mostHeldAgainst, len(g.changes))]
}

// Beyond are the others, which are counted.
func (g versionGroup) Beyond() []crddiff.Change { return g.changes[len(g.Shown()):] }

// More tells how many there are beyond, for example "and 290 more of the like: 290 warnings"; empty if there are none.
func (g versionGroup) More() string {
	if len(g.Beyond()) == 0 {
		return ""
	}
	return fmt.Sprintf("and %s more of the like: %s", grouped(int64(len(g.Beyond()))), tally(severitiesOfChanges(g.Beyond())))
}

func severitiesOfChanges(changes []crddiff.Change) []finding.Severity {
	return words.Of(changes, func(c crddiff.Change) finding.Severity { return c.Severity })
}

// Title is the version, and which one it is held against.
func (g versionGroup) Title() string {
	title := cmp.Or(plain(g.version), "all versions")
	if against := plain(g.against); against != "" {
		title += ", held against " + against
	}
	return title
}
