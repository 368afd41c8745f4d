package plan

import (
	"slices"
	"time"
)

// Surveyed is what is known about managedFields: for which versions every object
// has been looked at, and repaired where it named them.
type Surveyed struct {
	// Versions that no object's managedFields named when the survey ended.
	Versions []string
	// At is when the walk began: an entry written later may have been missed.
	At time.Time

	// Trouble is why the last survey did not succeed; nil when it did.
	Trouble  *Trouble
	Failures int
	RetryAt  time.Time
}

// Covers tells whether the survey answers what is asked for.
func (s Surveyed) Covers(r Removal) bool {
	if len(r.Versions) == 0 {
		return true
	}
	for _, v := range r.Versions {
		if !slices.Contains(s.Versions, v) {
			return false
		}
	}
	return !s.At.Before(r.Since)
}

// after is the survey once a walk over all objects has ended.
func (s Surveyed) after(w Outcome, now time.Time) Surveyed {
	if w.Trouble != nil {
		s.Trouble, s.RetryAt = w.Trouble, now.Add(Backoff(s.Failures))
		s.Failures++
		return s
	}
	return Surveyed{Versions: w.Leaving, At: w.Started}
}
