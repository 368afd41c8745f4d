package plan

import (
	"slices"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Loss is what a field manager no longer owns of the objects of a CRD, because its
// entries of managedFields were moved away from a version. Or it is what it would
// no longer own, for which they were not.
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

// dropping is the evidence beside the fields that objects may lose. When they change, a
// migration that was held up for such need not wait for its next time.
func (e Evidence) dropping(fields []string) Evidence {
	if e.Failure != nil && e.Failure.Reason == v1alpha1.ReasonFieldsWouldBeLost && !slices.Equal(e.MayDrop, fields) {
		e.RetryAt = time.Time{}
	}
	e.MayDrop = fields
	return e
}

// Moved are the versions that no entry was left at.
func (w Outcome) Moved() []string {
	return slices.DeleteFunc(slices.Clone(w.Leaving), func(v string) bool { return slices.Contains(w.Waiting, v) })
}
