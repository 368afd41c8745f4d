package migration

import (
	"maps"
	"slices"
	"time"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/plan"
)

// maxWriters is how many field managers of a CRD are remembered, and maxLosses of how many it is what they have lost.
const (
	maxWriters = 100
	maxLosses  = 100
)

// findings are what walks over a CRD have found: of the objects that failed, the last
// walk's, of those who write and of what they lose, all walks'.
type findings struct {
	failed   []plan.FailedObject
	failedBy map[string]int64 // how many, by reason
	writers  writers
	losses   []plan.Loss
	dropped  []rewrite.FieldLoss // of the last walk that has rewritten any object
	moved    rewrite.Moves       // the last check's
}

// after are the findings once another walk has ended.
func (f findings) after(outcome plan.Outcome, result rewrite.Result, moved rewrite.Moves) findings {
	if outcome.Mode != plan.Checking {
		moved = f.moved
	}
	dropped := f.dropped
	if lost := result.Dropped(); outcome.Mode == plan.Rewriting || len(lost) > 0 {
		dropped = lost
	}
	return findings{
		moved: moved, dropped: dropped,
		failed: failedObjectsOf(result.FailedObjects), failedBy: result.FailedBy,
		writers: f.writers.after(outcome, result), losses: lossesAfter(f.losses, lossesOf(result)),
	}
}

// status is the part of a migration's status that walks have found.
func (f findings) status() plan.MigrationStatus {
	return plan.MigrationStatus{
		FailedObjects: f.failed, FailedBy: f.failedBy, Writers: f.writers.seen, LastWrites: f.writers.last, Losses: f.losses,
	}
}

// writers is what walks over a CRD have seen of those who write at versions that are to go. A walk moves the entries it
// sees, so the next one no longer shows the writes before.
type writers struct {
	seen          []plan.Writer
	last          map[string]time.Time             // by version
	lookedThrough map[string]rewrite.LookedThrough // by version, the last walk that left no entry but those that show a late write
}

// after are the writers once another walk has ended.
func (w writers) after(outcome plan.Outcome, result rewrite.Result) writers {
	if len(outcome.Leaving) == 0 {
		return w
	}
	next := writers{seen: mergeWriters(w.seen, writersOf(result)), last: map[string]time.Time{}, lookedThrough: map[string]rewrite.LookedThrough{}}
	maps.Copy(next.last, result.LastWrites)
	for version, at := range w.last {
		if at.After(next.last[version]) {
			next.last[version] = at
		}
	}
	maps.Copy(next.lookedThrough, w.lookedThrough)
	if outcome.Failure == nil {
		for _, version := range outcome.Moved() {
			next.lookedThrough[version] = rewrite.LookedThrough{Began: outcome.Started, Left: outcome.Started.Add(-outcome.Quiet[version])}
		}
	}
	return next
}

// mergeWriters keeps a writer once, as last seen, and of too many those that
// wrote last.
func mergeWriters(before, now []plan.Writer) []plan.Writer {
	merged := slices.Clone(now)
	for _, w := range before {
		same := slices.IndexFunc(merged, func(o plan.Writer) bool { return o.Manager == w.Manager && o.Version == w.Version })
		switch {
		case same < 0:
			merged = append(merged, w)
		case w.Last.After(merged[same].Last):
			merged[same].Last, merged[same].LastWrote = w.Last, w.LastWrote
		}
	}
	slices.SortStableFunc(merged, func(a, b plan.Writer) int { return b.Last.Compare(a.Last) })
	return merged[:min(len(merged), maxWriters)]
}

// lossesAfter are the losses once another walk has ended. What it has cost is kept for good, since no later walk sees
// it. What it has left alone is kept until the next walk has looked.
func lossesAfter(before, now []plan.Loss) []plan.Loss {
	after := slices.DeleteFunc(slices.Clone(before), func(l plan.Loss) bool { return l.Waits })
	for _, loss := range now {
		same := slices.IndexFunc(after, func(o plan.Loss) bool {
			return !o.Waits && !loss.Waits && o.Manager == loss.Manager && o.Version == loss.Version
		})
		switch {
		case same >= 0:
			after[same].Objects += loss.Objects
			after[same].Fields += loss.Fields
		case loss.Waits || len(after) < maxLosses:
			after = append(after, loss)
		}
	}
	return after
}

// lossesOnTheWay are the losses once a walk was stopped: what it has cost is added, and what was left alone before still is.
func lossesOnTheWay(before, cost []plan.Loss) []plan.Loss {
	left := slices.DeleteFunc(slices.Clone(before), func(l plan.Loss) bool { return !l.Waits })
	return lossesAfter(before, slices.Concat(cost, left))
}

// cut takes in what outlives a walk that was stopped, and reports it.
func (r *Reconciler) cut(w *walking, result rewrite.Result) {
	cost := slices.DeleteFunc(lossesOf(result), func(l plan.Loss) bool { return l.Waits })
	r.tellOfOwnership(w.crd, plan.Outcome{Mode: w.mode}, cost)
	r.tellOfFields(w.crd, w.observed.StorageVersion, result.Dropped())
	r.sawWriters(w, result)
	r.states.with(w.crd.Name, func(known *state) {
		if known.evidence.UID == w.observed.UID {
			known.findings.losses = lossesOnTheWay(known.findings.losses, cost)
		}
	})
}

// sawWriters takes in who has written, as far as a walk that is stopped has seen it by now: it moves the entries that show it.
func (r *Reconciler) sawWriters(w *walking, result rewrite.Result) {
	cut := plan.Outcome{Leaving: w.observed.Removal.Versions, Failure: &plan.Failure{}}
	r.states.with(w.crd.Name, func(known *state) {
		if known.evidence.UID == w.observed.UID {
			known.findings.writers = known.findings.writers.after(cut, result)
		}
	})
}
