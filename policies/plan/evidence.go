package plan

import (
	"cmp"
	"time"
)

// Evidence is what is known about the stored bytes of one Subject.
//
// The argument: a client that wrote through a lagging API server may store an
// object at the old version for a while after the flip. Assume this while is
// shorter than the settle time (the one assumption). Then an object is proved
// current by one of two sights after the window has closed. One is an empty write
// that does not move its resourceVersion. The API server elides a write only when
// the bytes in etcd equal the object encoded at the storage version
// (k8s.io/apiserver/pkg/storage/etcd3/store.go). The other is any write at all. A check
// that had to rewrite an object shows that the assumption was wrong, so it opens
// a new window instead of ending the proof.
type Evidence struct {
	Subject

	// Settle is the settle time that the proof rests on.
	Settle time.Duration
	// WindowEnd is when the settle time is over: before it, a write may still
	// land at an older version.
	WindowEnd time.Time
	// WindowEndRV is a resourceVersion known to be later than every write
	// before WindowEnd; empty until the first check has listed.
	WindowEndRV string

	// Rewritten is set once a rewriting walk has ended without a failure.
	Rewritten bool
	// Proved is set once a check has found nothing left to rewrite.
	Proved bool

	// Altered is what changes objects at every write, once a check has met it;
	// empty otherwise. The write of a check does not show then whether an object was
	// stale, so the first such check opens a new window, as if it had been. It counts
	// as written after that by the next check.
	Altered string

	// Trimmed is set once storedVersions has been seen clean beside the proof.
	Trimmed bool
	// SeenRV is the CRD's resourceVersion when it was last looked at.
	SeenRV string

	// Failure is why the last walk or trim did not succeed; nil when it did.
	Failure *Failure
	// Failures counts them in a row; it sets the back-off.
	Failures int
	// RetryAt is when to try again after a failure.
	RetryAt time.Time

	// MayDrop are the fields that objects might lose when the CRD was last looked at.
	MayDrop []string

	// Tried is when that walk began, or when the trim failed.
	Tried time.Time

	// Last is what the last finished walk counted.
	Last Counts

	// Survey is what is known about the objects' managedFields.
	Survey Surveyed

	// Shape is what API servers read and store objects by.
	Shape Shape

	// Edits counts the changes of the spec that have made the work begin anew, and of which none has been proved since.
	Edits int

	// WritableUntil holds the versions that are not served, and when the last
	// write at each has landed. That is a settle time after this process first saw
	// that it is not served, by the same assumption as WindowEnd.
	WritableUntil map[string]time.Time
}

// Failure is a reason of the StorageMigrated condition with its sentence.
type Failure struct {
	Reason  string
	Message string
	// Public is the part of Message that names no object and quotes no client, so that
	// anybody may read it; empty if there is none.
	Public string
}

// Outcome is how a walk ended.
type Outcome struct {
	Mode   Mode
	Counts Counts
	// ListedRV is the resourceVersion of the walk's first page.
	ListedRV string
	// Leaving are the versions whose managedFields entries the walk has moved,
	// and Started is when it began.
	Leaving []string
	Started time.Time
	// Quiet is how old an entry at each was at most that was left because it shows a write.
	Quiet map[string]time.Duration
	// Waiting are those of them that entries were left at, because a manager would
	// lose ownership, and MayLose those at which it might have.
	Waiting []string
	MayLose []string
	// Altered, of a check, is what has changed objects although nothing was
	// asked of it; empty if nothing has.
	Altered string
	// Failure is set when the walk was cut short or objects failed.
	Failure *Failure
}

// Recorded is what the CRD's own condition says of an earlier process' work.
type Recorded struct {
	Generation int64         // 0 when there is no condition of ours
	Proved     bool          // status True
	Settle     time.Duration // of that proof; 0 if it is not known
	Rewritten  bool          // the rewriting walk had ended
	Counts     Counts
}

// proves reports whether the proof of another process counts for one with the given settle time: a shorter one may have missed
// what an API server that lags has written.
func (r Recorded) proves(settle time.Duration) bool { return r.Proved && r.Settle >= settle }

// Begin is the evidence a controller starts with when it first sees a CRD. A
// proof recorded for this very generation still holds, since nothing that could
// break it happens without a new generation, if no shorter settle time was waited for it. A recorded rewriting walk need not
// be repeated, but the window starts anew: no clock but our own is trusted.
func Begin(s Subject, r Recorded, now time.Time, settle time.Duration) Evidence {
	e := Evidence{Subject: s, Settle: settle, WindowEnd: now.Add(settle)}
	if r.Generation == s.Generation {
		e.Proved, e.Rewritten, e.Last = r.proves(settle), r.Rewritten, r.Counts
	}
	if e.Proved {
		e.Settle = r.Settle
	}
	return e
}

// After is the evidence once a walk has ended. A check moves entries of
// managedFields too, but it is no survey: one that begins after the proof has
// less time to miss a write.
func (e Evidence) After(w Outcome, now time.Time, settle time.Duration) Evidence {
	if w.aggregated() {
		return e.afterAggregated(w, now, settle)
	}
	if w.Mode == Surveying {
		e.Survey = e.Survey.after(w, now)
		return e
	}
	e.Last = w.Counts
	e.Last.Rate = 0                          // a rate is about the past once the walk is over
	inTime := !w.Started.Before(e.WindowEnd) // a check that began earlier may have passed an object before a late write to it
	if w.Mode == Checking && inTime && e.WindowEndRV == "" {
		e.WindowEndRV = w.ListedRV
	}
	stale := w.Counts.Rewritten > 0 || w.Altered != "" && e.Altered == ""
	if w.Mode == Checking && stale {
		e.WindowEnd, e.WindowEndRV = now.Add(settle), ""
	}
	if w.Mode == Checking {
		e.Altered = cmp.Or(w.Altered, e.Altered)
	}
	if w.Failure != nil {
		e = e.Failed(*w.Failure, now)
		e.Tried = w.Started
		return e
	}
	e.Failure, e.Failures, e.RetryAt = nil, 0, time.Time{}
	switch w.Mode {
	case Rewriting:
		e.Rewritten = true
	case Checking:
		e.Rewritten = true
		e.Proved = !stale && inTime
	case Surveying:
	}
	return e
}

// Failed notes a failure and when to try again.
func (e Evidence) Failed(t Failure, now time.Time) Evidence {
	e.Failure, e.Tried = &t, now
	e.RetryAt = now.Add(Backoff(e.Failures))
	e.Failures++
	return e
}

const (
	firstBackoff = 5 * time.Second
	maxBackoff   = 10 * time.Minute
)

// Backoff is the pause after the given number of earlier failures in a row: 5
// seconds, doubled each time, at most 10 minutes.
func Backoff(failures int) time.Duration { return Pause(failures, firstBackoff, maxBackoff) }

// Pause is the first one, doubled for each earlier failure in a row, up to the longest.
func Pause(failures int, first, longest time.Duration) time.Duration {
	for ; failures > 0 && first < longest; failures-- {
		first *= 2
	}
	return min(first, longest)
}
