package output

import (
	"k8s.io/utils/ptr"

	"github.com/moult-dev/moult/policies/crddiff"
)

// pair is something before and after. Same tells that it has not changed.
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
	for _, v := range versionsOf(crd.Base) {
		after := ""
		if is, stays := crd.Head.Version(v.Name); stays {
			after = describe(is)
		}
		pairs = append(pairs, pair{Name: plain(v.Name), Base: describe(v), Head: after, Same: describe(v) == after})
	}
	for _, v := range versionsOf(crd.Head) {
		if !crd.Base.Has(v.Name) {
			pairs = append(pairs, pair{Name: plain(v.Name), Head: describe(v)})
		}
	}
	return pairs
}

func versionsOf(s *crddiff.Shape) []crddiff.Version {
	if s == nil {
		return nil
	}
	return s.Versions
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
