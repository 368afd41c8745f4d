package migration

import (
	"maps"
	"slices"
	"time"

	"github.com/moult-dev/moult/controllers/plan"
	"github.com/moult-dev/moult/controllers/rewrite"
)

// maxWriters is how many field managers of a CRD are remembered.
const maxWriters = 100

// writers is what walks over a CRD have seen of those who write at versions that
// are to go. A walk moves the entries it sees, so the next one no longer tells of
// the writes before.
type writers struct {
	seen []plan.Writer
	last map[string]time.Time // by version
	// lookedThrough is when the last walk began that left no entry at a version:
	// an entry that is seen there was written later.
	lookedThrough map[string]time.Time
}

// after are the writers once another walk has ended.
func (w writers) after(outcome plan.Outcome, result rewrite.Result) writers {
	if len(outcome.Leaving) == 0 {
		return w
	}
	next := writers{seen: mergeWriters(w.seen, writersOf(result)), last: copied(result.LastWrites), lookedThrough: copied(w.lookedThrough)}
	for version, at := range w.last {
		if at.After(next.last[version]) {
			next.last[version] = at
		}
	}
	if outcome.Failure == nil {
		for _, version := range outcome.Moved() {
			next.lookedThrough[version] = outcome.Started
		}
	}
	return next
}

// copied is a map that may be written to, also if there was none.
func copied(times map[string]time.Time) map[string]time.Time {
	c := make(map[string]time.Time, len(times))
	maps.Copy(c, times)
	return c
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

func writersOf(t rewrite.Result) []plan.Writer {
	writers := make([]plan.Writer, len(t.Writers))
	for i, w := range t.Writers {
		writers[i] = plan.Writer{Manager: managerOf(w.Manager, w.Operation, w.Subresource), Version: w.Version, Objects: w.Objects, Last: w.Last, LastWrote: w.Object.String()}
	}
	return writers
}

// noteWalk remembers what a walk over s has seen.
func (l *states) noteWalk(name string, s plan.Subject, outcome plan.Outcome, result rewrite.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[name]
	if !known || e.evidence.Subject != s {
		return
	}
	e.failures, e.failed = failedObjectsOf(result), result.FailedBy
	e.writers, e.losses = e.writers.after(outcome, result), lossesAfter(e.losses, lossesOf(result))
}

// status is what walks over a CRD have seen.
func (l *states) status(name string) (s plan.MigrationStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, known := l.entries[name]; known {
		s.FailedObjects, s.FailedBy = e.failures, e.failed
		s.Writers, s.LastWrites, s.Losses = e.writers.seen, e.writers.last, e.losses
	}
	return s
}

// lookedThrough tells for which versions every entry has been moved, and when the
// walk that did it began.
func (l *states) lookedThrough(name string, s plan.Subject) map[string]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, known := l.entries[name]; known && e.evidence.UID == s.UID {
		return e.writers.lookedThrough
	}
	return nil
}
