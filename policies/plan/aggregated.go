package plan

import (
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// aggregated reports whether another API server may have answered the walk, one that
// does not have the CRD's objects.
func (w Outcome) aggregated() bool {
	return w.Failure != nil && w.Failure.Reason == v1alpha1.ReasonAggregatedAPIServer
}

// afterAggregated is the evidence once such a walk has ended. An API server may go on
// handing requests on for a while after the APIService has changed, as it may write
// at the old version after a flip. So by the
// same assumption, the settle time is waited out before the next look.
func (e Evidence) afterAggregated(w Outcome, now time.Time, settle time.Duration) Evidence {
	settled := now.Add(settle)
	if w.Mode == Surveying {
		e.Survey = e.Survey.after(w, now)
		e.Survey.NextAt = later(e.Survey.NextAt, settled)
		return e
	}
	e = e.Failed(*w.Failure, now)
	e.Tried = w.Started
	e.WindowEnd, e.WindowEndRV = settled, ""
	e.RetryAt = later(e.RetryAt, settled)
	return e
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
