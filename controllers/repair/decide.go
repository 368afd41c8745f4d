package repair

import (
	"reflect"
	"slices"
	"time"

	"github.com/moult-dev/moult/policies/plan"
)

// outcome is how a look has ended. The set is closed.
type outcome int

const (
	// none: no reference was to be moved, and all objects were looked at.
	none outcome = iota
	// moved: all that were found were.
	moved
	// unfinished: references are left, or not all objects could be looked at.
	unfinished
)

// look is the last one at all objects for a CRD.
type look struct {
	subject  subject
	outcome  outcome
	at       time.Time
	failures int // unfinished ones in a row
	asks     int // in a row that began because more was asked for
}

// after is the look that follows this one.
func (l look) after(s subject, o outcome, at time.Time) look {
	next := look{subject: s, outcome: o, at: at}
	if o == unfinished && same(l.subject, s) && covers(l.subject, s) {
		next.failures = l.failures + 1
	}
	if same(l.subject, s) && !covers(l.subject, s) {
		next.asks = l.asks + 1
	}
	return next
}

// firstPause is until what could not be moved is tried again for the first time. Pauses double from there.
const firstPause = 30 * time.Second

// decision is what to do next: one of the three.
type decision struct {
	// stop the repair under way: it is for something that is not wanted any more.
	stop bool
	// start one for these.
	start []subject
	// until is when there may be something to do; zero: when something changes.
	until time.Time
}

// decide is pure. A CRD is looked after at once when it is new, or when the versions that it has or stores are other ones. So it is when
// more of them are asked to go, but with pauses if that goes on: a tenant may ask as often as it likes. Again after a while if something
// was moved or is left, or if VersionRemovals name it, because who writes references may do so at any time. And not before it changes
// otherwise. What is asked stops no look: the next one is for that.
func decide(now time.Time, every time.Duration, subjects []subject, looks map[string]look, underWay []subject) decision {
	d := decision{}
	if len(underWay) > 0 {
		for _, s := range underWay {
			d.stop = d.stop || !wanted(subjects, s)
		}
		return d
	}
	for _, s := range subjects {
		at, due := next(looks[s.name()], s, every)
		switch {
		case due && !at.After(now):
			d.start = append(d.start, s)
		case due && (d.until.IsZero() || at.Before(d.until)):
			d.until = at
		}
	}
	return d
}

// next is when to look for a CRD; due is false for never.
func next(last look, s subject, every time.Duration) (at time.Time, due bool) {
	switch {
	case !same(last.subject, s), !covers(last.subject, s) && last.asks == 0:
		return time.Time{}, true
	case !covers(last.subject, s):
		return last.at.Add(plan.Pause(last.asks-1, firstPause, every)), true
	case last.outcome == unfinished:
		return last.at.Add(plan.Pause(last.failures, firstPause, every)), true
	case last.outcome == moved, s.asked:
		return last.at.Add(every), true
	default:
		return time.Time{}, false
	}
}

func wanted(subjects []subject, s subject) bool {
	for i := range subjects {
		if same(subjects[i], s) {
			return true
		}
	}
	return false
}

// same reports whether two looks would be for the same, whatever is asked to go.
func same(a, b subject) bool {
	a.target.Leaving, b.target.Leaving = nil, nil
	return a.uid == b.uid && slices.Equal(a.listed, b.listed) && reflect.DeepEqual(a.target, b.target)
}

// covers reports whether a look was for all versions that are asked to go now.
func covers(last, now subject) bool {
	return !slices.ContainsFunc(now.target.Leaving, func(version string) bool { return !slices.Contains(last.target.Leaving, version) })
}
