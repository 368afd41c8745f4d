package migration

import (
	"sync"
	"time"

	"github.com/moult-dev/moult/controllers/labelorigin"
	"github.com/moult-dev/moult/controllers/plan"
)

// states holds what this process knows about each CRD. It is lost with the
// process; what must survive stands in the CRD's condition.
type states struct {
	mu      sync.Mutex
	entries map[string]*entry
}

type entry struct {
	evidence    plan.Evidence
	labelOwner  string              // who set the opt-in label, in words
	labelOrigin labelorigin.Verdict // what was last told of the opt-in label
	failures    []plan.FailedObject // objects that failed in the last walk
	failed      map[string]int64    // how many, by reason
	writers     writers             // at versions that are to go
	losses      []plan.Loss         // of ownership
	began       time.Time           // when the evidence began
	toldAt      time.Time           // when progress was last written to the condition
	toldReason  string              // the last reason that was written
	reasonAt    time.Time           // when it was written last
}

func newStates() *states { return &states{entries: map[string]*entry{}} }

// evidence is what is known about a CRD as it is now. begin is asked when
// nothing is known yet.
func (l *states) evidence(name string, s plan.Subject, now time.Time, settle time.Duration, begin func() plan.Evidence) plan.Evidence {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[name]
	if !known {
		e = &entry{evidence: begin(), began: now}
		l.entries[name] = e
	}
	if next := e.evidence.About(s, now, settle); next.Subject != e.evidence.Subject {
		if !next.Proved {
			e.began = now
		}
		if next.UID != e.evidence.UID {
			e.writers, e.losses = writers{}, nil // of objects that are gone
		}
		e.evidence = next
	}
	return e.evidence
}

// update changes the evidence about s; it does nothing if the CRD has become
// another subject meanwhile.
func (l *states) update(name string, s plan.Subject, change func(plan.Evidence) plan.Evidence) plan.Evidence {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[name]
	if !known || e.evidence.Subject != s {
		return plan.Evidence{}
	}
	e.evidence = change(e.evidence)
	return e.evidence
}

// noteOwner remembers who set the opt-in label, for the day it is gone.
func (l *states) noteOwner(name, owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, known := l.entries[name]; known {
		e.labelOwner = owner
	}
}

// tellsLabelOrigin notes what is told of the opt-in label and tells whether it is
// something else than the last time.
func (l *states) tellsLabelOrigin(name string, v labelorigin.Verdict) (fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[name]
	if !known || e.labelOrigin == v {
		return false
	}
	e.labelOrigin = v
	return true
}

// forget drops a CRD and returns who had set its opt-in label.
func (l *states) forget(name string) (labelOwner string, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[name]
	if !known {
		return "an unknown field manager", false
	}
	delete(l.entries, name)
	return e.labelOwner, true
}

// told notes that progress is told now, if due says so of the last time.
func (l *states) told(name string, now time.Time, due func(last time.Time) bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[name]
	if !known || !due(e.toldAt) {
		return false
	}
	e.toldAt = now
	return true
}

// tellsReason notes that a reason is written now and tells whether it is another
// one than the last.
func (l *states) tellsReason(name, reason string, now time.Time) (fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[name]
	if !known {
		return true
	}
	fresh = e.toldReason != reason
	e.toldReason, e.reasonAt = reason, now
	return fresh
}

// isEcho tells whether a reason was written by this process a moment ago. If the
// CRD does not show it, the cache is not up to date yet, or another process of
// ours writes too, and two that answer each other at once would never stop.
func (l *states) isEcho(name, reason string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[name]
	return known && e.toldReason == reason && now.Sub(e.reasonAt) < progressInterval
}

// age is how long ago the evidence about a CRD began.
func (l *states) age(name string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, known := l.entries[name]; known {
		return now.Sub(e.began)
	}
	return 0
}
