package output

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

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

// More reports how many there are beyond, for example "and 290 more of the like: 290 warnings"; empty if there are
// none.
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

// pair is something before and after. Same reports that it has not changed.
type pair struct {
	Name, Base, Head string
	Same             bool
}

// shapeFacts are what differs of the CRD as a whole.
func shapeFacts(crd crddiff.Diff) []pair {
	was, is := shapeOf(crd.Base), shapeOf(crd.Head)
	var differ []pair
	for i, name := range []string{"Group", "Scope", "Storage version", "Conversion", "Opt-in label"} {
		if was[i] != is[i] {
			differ = append(differ, pair{Name: name, Base: was[i], Head: is[i]})
		}
	}
	return differ
}

func shapeOf(s *crddiff.Shape) [5]string {
	if s == nil {
		return [5]string{}
	}
	return [5]string{plain(s.Group), plain(s.Scope), plain(s.Storage), plain(s.Conversion), plain(ptr.Deref(s.Label, ""))}
}

// versionPairs are all versions: those that there were, then those that come.
func versionPairs(crd crddiff.Diff) []pair {
	var pairs []pair
	for _, v := range ptr.Deref(crd.Base, crddiff.Shape{}).Versions {
		after := ""
		if is, stays := crd.Head.Version(v.Name); stays {
			after = describe(is)
		}
		pairs = append(pairs, pair{Name: plain(v.Name), Base: describe(v), Head: after, Same: describe(v) == after})
	}
	for _, v := range ptr.Deref(crd.Head, crddiff.Shape{}).Versions {
		if !crd.Base.Has(v.Name) {
			pairs = append(pairs, pair{Name: plain(v.Name), Head: describe(v)})
		}
	}
	return pairs
}

// describe says what is true of a version.
func describe(v crddiff.Version) string {
	said := "not served"
	if v.Served {
		said = "served"
	}
	if v.Storage {
		said += ", stored"
	}
	if v.Deprecated {
		said += ", deprecated"
	}
	return said
}
