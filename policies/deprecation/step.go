package deprecation

import (
	"slices"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
)

// step is one CRD from one release to the next, with all that was before.
type step struct {
	Input

	// past are the releases before to; from is the last of them.
	past     []Release
	from, to Release
	name     string
	// was and is are the CRD, before and after; the latter is nil if it no longer exists.
	was, is *definition
	diff    crddiff.Diff
}

// place is where the CRD is written, or was if it no longer exists.
func (s *step) place() finding.Place {
	if place, ok := s.to.Places[s.name]; ok {
		return place
	}
	return s.from.Places[s.name]
}

// stays are the versions that are served before and after.
func (s *step) stays(version string) bool {
	was, _ := s.diff.Base.Version(version)
	is, _ := s.diff.Head.Version(version)
	return was.Served && is.Served
}

// leaving are the versions that were served and are not any more.
func (s *step) leaving() (names []string) {
	for _, v := range s.diff.Base.Versions {
		if is, _ := s.diff.Head.Version(v.Name); v.Served && !is.Served {
			names = append(names, v.Name)
		}
	}
	return names
}

// changes are those of some kinds.
func (s *step) changes(kinds ...crddiff.Rule) (changes []crddiff.Change) {
	for _, c := range s.diff.Changes {
		if slices.Contains(kinds, c.Rule) {
			changes = append(changes, c)
		}
	}
	return changes
}

// within are those within versions that stay served.
func (s *step) within(kinds ...crddiff.Rule) []crddiff.Change {
	return slices.DeleteFunc(s.changes(kinds...), func(c crddiff.Change) bool { return c.Against != "" || c.Field == "" || !s.stays(c.Version) })
}

// served reports whether a release served a version of the CRD.
func (s *step) served(r Release, version string) bool {
	crd := r.crd(s.name)
	if crd == nil {
		return false
	}
	v := crds.Version(crd, version)
	return v != nil && v.Served
}
