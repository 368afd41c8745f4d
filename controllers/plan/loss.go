package plan

import (
	"slices"
	"time"
)

// Loss is what a field manager no longer owns of the objects of a CRD, because its
// entries of managedFields were moved away from a version; or what it would no
// longer own, for which they were not.
type Loss struct {
	Manager string // with its operation and subresource, in words
	Version string
	Waits   bool // the entries were not moved
	Objects int64
	Fields  int64  // of all those objects
	Field   string // one of them, as it is called at Version
	Object  string // that has it, as namespace/name
	Why     string
}

// allowing is the survey beside the versions of which ownership may be lost. When
// they change, one that had to leave entries alone need not wait for its next time.
func (s Surveyed) allowing(versions []string) Surveyed {
	if !slices.Equal(s.MayLose, versions) {
		s.MayLose, s.NextAt = versions, time.Time{}
	}
	return s
}

// Moved are the versions that no entry was left at.
func (w Outcome) Moved() []string {
	return slices.DeleteFunc(slices.Clone(w.Leaving), func(v string) bool { return slices.Contains(w.Waiting, v) })
}
