package show

import (
	"slices"

	"github.com/moult-dev/moult/policies/change"
)

// versionGroup is what changes in one version, in one version held against another, or in the CRD as a whole.
type versionGroup struct {
	version, against string
	changes          []change.Change
}

// byVersion keeps the order in which the versions come first.
func byVersion(changes []change.Change) []versionGroup {
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
