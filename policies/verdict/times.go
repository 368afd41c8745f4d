package verdict

import (
	"slices"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

// What a verdict compares is when things happened. All times are of this
// process' clock, but for those that managedFields and an earlier process tell.

// lastWrite is the latest write at one of the versions, as far as is known; one
// in the future counts as now.
func (s Situation) lastWrite() time.Time {
	last := s.LastWrite
	if s.Migration != nil {
		for _, version := range s.Removal.Versions {
			last = latest(last, s.Migration.LastWrites[version])
		}
		for _, w := range s.Migration.Writers {
			if slices.Contains(s.Removal.Versions, w.Version) {
				last = latest(last, w.Last)
			}
		}
	}
	if last.After(s.Now) {
		return s.Now
	}
	return last
}

// quietFrom is when the quiet period is over.
func (s Situation) quietFrom() time.Time {
	last := s.lastWrite()
	if last.IsZero() {
		return last
	}
	return last.Add(s.Removal.QuietPeriod.Duration)
}

// Quiet is how long the gate waits after a write at each version.
func (s Situation) Quiet() map[string]time.Duration {
	if !s.requires(v1alpha1.Quiet) {
		return nil
	}
	quiet := map[string]time.Duration{}
	for _, version := range s.Removal.Versions {
		quiet[version] = s.Removal.QuietPeriod.Duration
	}
	return quiet
}

// landedBy is when the last write at one of the versions has landed, once none of
// them is served any more; zero while one is.
func (s Situation) landedBy() (by time.Time) {
	if len(s.served()) > 0 {
		return by
	}
	for _, version := range s.present() {
		by = latest(by, s.Migration.Evidence.WritableUntil[version])
	}
	return by
}

// opensFrom is since when managedFields have to be looked through for the gate to
// open: after all that may have happened unseen.
func (s Situation) opensFrom() time.Time {
	return latest(latest(s.Asked, s.ClosedAt), s.landedBy())
}

// lookedAt is the survey that an open gate names. It goes on naming the one that it was opened by until there is one
// that it has asked for itself, or that one has grown old. Otherwise one question about a CRD would have the statuses
// of all its VersionRemovals written.
func (s Situation) lookedAt() time.Time {
	survey := s.Migration.Evidence.Survey
	named := time.Time{}
	if at := s.Remembered; s.remembered() && at.SurveyedAt != nil && !at.SurveyedAt.After(s.Now) {
		named = at.SurveyedAt.Time
	}
	switch {
	case named.IsZero():
		return survey.At
	case !survey.Covers(s.wanted()), survey.At.Before(named):
		return named
	case named.Before(s.Asked.Truncate(time.Second)), survey.At.Sub(named) >= s.Every:
		return survey.At
	default:
		return named
	}
}

// answered reports whether a request to look is answered: by a walk that began
// after it and has ended, or because nothing can be looked at.
func (s Situation) answered() bool {
	switch {
	case s.CRD == nil, s.CRD.Deleting, !s.CRD.OptedIn, !s.CRD.InScope, slices.Contains(s.Removal.Versions, s.CRD.StorageVersion):
		return true
	case s.Migration == nil, s.Migration.Subject != s.CRD.Subject:
		return false
	case s.Migration.Decision.Step == plan.Hold:
		return true
	}
	e := s.Migration.Evidence
	if e.Failure != nil {
		return !e.Tried.Before(s.Requested)
	}
	return e.Proved && !e.Survey.Tried.Before(s.Requested)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
