package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Surveyed is what is known about managedFields: for which versions every object
// has been looked at, and repaired where it named them.
type Surveyed struct {
	// Versions that no object's managedFields named when the survey ended.
	Versions []string
	// Quiet is how old an entry at a version was at most that was left because it shows a write, since all wait who asked then.
	Quiet map[string]time.Duration
	// At is when the walk began: an entry written later may have been missed.
	At time.Time
	// Tried is when the last survey that has ended began, whether it succeeded or not.
	Tried time.Time
	// NextAt is when the next one may begin.
	NextAt time.Time

	// Failure is why the last survey did not succeed; nil when it did.
	Failure  *Failure
	Failures int
	// MayLose are the versions of which ownership could be lost when it began.
	MayLose []string
}

// Covers reports whether the survey answers what is asked for.
func (s Surveyed) Covers(r Removal) bool {
	if len(r.Versions) == 0 {
		return true
	}
	left := func(version string) bool { return s.Quiet[version] > r.Quiet[version] }
	return !s.At.Before(r.Since) && !slices.ContainsFunc(r.Versions, left) && sets.New(s.Versions...).HasAll(r.Versions...) // tenants may name many
}

// due is when the next survey is to begin, false if none is. One survey answers
// all who asked before it began, and those who ask meanwhile are answered
// together by the next.
func (s Surveyed) due(r Removal) (at time.Time, is bool) {
	switch {
	case len(r.Versions) == 0:
		return time.Time{}, false
	case !s.Covers(r), s.Failure != nil:
		return s.NextAt, true
	case r.Every <= 0:
		return time.Time{}, false
	case s.At.Add(r.Every).After(s.NextAt):
		return s.At.Add(r.Every), true
	default:
		return s.NextAt, true
	}
}

// after is the survey once a walk over all objects has ended.
func (s Surveyed) after(w Outcome, now time.Time) Surveyed {
	s.MayLose = w.MayLose
	if w.Failure != nil {
		s.Failure, s.Tried, s.NextAt = w.Failure, w.Started, now.Add(Backoff(s.Failures))
		s.Failures++
		return s
	}
	surveyed := Surveyed{Versions: w.Moved(), Quiet: w.Quiet, At: w.Started, Tried: w.Started, NextAt: now.Add(rest(now.Sub(w.Started))), MayLose: w.MayLose}
	if len(w.Waiting) > 0 {
		surveyed.Failures, surveyed.NextAt = s.Failures+1, now.Add(Backoff(s.Failures))
	}
	return surveyed
}

const (
	// restShare is how long no next survey begins, in times of what one took. So
	// those who go on asking take at most a quarter of the time.
	restShare = 3
	minRest   = time.Second
	maxRest   = 5 * time.Minute
)

// rest is the pause after a survey that took so long.
func rest(took time.Duration) time.Duration {
	return min(max(restShare*took, minRest), maxRest)
}
