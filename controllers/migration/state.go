package migration

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/plan"
)

// StateStore holds what this process knows about each CRD, and who wants versions of
// it to be removed (requests.go). It connects the removal reconciler to this one
// within a process, and writes nothing to the cluster. It is lost with the process;
// what must survive is in the CRD's condition.
type StateStore struct {
	mu     sync.Mutex
	states map[string]*state           // of the CRDs that are looked after
	turns  map[string]*turns           // of all that have been
	routes map[string]map[string]route // of the CRDs that are looked after, by APIService
	asked  map[string]*requests        // of the CRDs of which versions are to go

	requested chan string // CRDs that are asked about anew
	changed   chan string // CRDs whose status has changed
	followers []func()
}

// state is what is known about one CRD.
type state struct {
	evidence plan.Evidence
	began    time.Time // when the evidence began
	findings findings  // of the walks over it

	labelOrigin labelorigin.Verdict // what was last told of the opt-in label
	progressAt  time.Time           // when progress was last written to the condition
	reason      string              // the last reason that was written, and its message
	message     string
	reasonAt    time.Time // when it was written last

	inTree      string    // what was last seen of the in-tree migrator, empty while it is not at work
	inTreeAt    time.Time // since when
	inTreeBegun time.Time // since when it has been anything

	wroteRV string // the CRD's resourceVersion after the last write of this process

	status *plan.MigrationStatus // nil if none is known yet
	told   *plan.MigrationStatus // as those who wait were last told of; nil if they were not
}

// NewStateStore is an empty store.
func NewStateStore() *StateStore {
	return &StateStore{
		states: map[string]*state{}, turns: map[string]*turns{}, routes: map[string]map[string]route{}, asked: map[string]*requests{},
		requested: make(chan string, 1024), changed: make(chan string, 1024),
	}
}

// with hands out the state of a CRD, if there is one.
func (s *StateStore) with(crd string, do func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.states[crd]; known != nil {
		do(known)
	}
}

// observe is the evidence beside a CRD as it is now. What recorded says of an earlier
// process' work is where it begins.
func (s *StateStore) observe(crd string, o plan.Observation, recorded plan.Recorded, settle time.Duration) plan.Evidence {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.states[crd]
	if known == nil {
		known = &state{evidence: plan.Begin(o.Subject, recorded, o.Now, settle), began: o.Now}
		s.states[crd] = known
	}
	before, now := known.evidence, known.evidence.ValidFor(o, recorded, settle)
	if now.Subject != before.Subject && !now.Proved {
		known.began = o.Now
	}
	if now.UID != before.UID {
		known.findings.writers, known.findings.losses = writers{}, nil // of objects that are gone
	}
	known.evidence = now
	return now
}

// update changes the evidence about a subject; it does nothing if the CRD has become
// another one meanwhile.
func (s *StateStore) update(crd string, subject plan.Subject, change func(*state)) (now plan.Evidence) {
	s.with(crd, func(known *state) {
		if known.evidence.Subject == subject {
			change(known)
			now = known.evidence
		}
	})
	return now
}

// wrote notes the resourceVersion that a write of this process has brought about.
func (s *StateStore) wrote(crd, resourceVersion string) {
	s.with(crd, func(known *state) { known.wroteRV = resourceVersion })
}

// isBefore reports whether a CRD, as somebody has it, is older than a write of this process.
func (s *StateStore) isBefore(crd, resourceVersion string) (before bool) {
	s.with(crd, func(known *state) { before = plan.Older(resourceVersion, known.wroteRV) })
	return before
}

// restart drops what is known about a CRD, since it is from before a restore of etcd.
func (s *StateStore) restart(crd string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.states, crd)
}

// forget drops a CRD, and returns who had set its opt-in label.
func (s *StateStore) forget(crd string) (labelOwner string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.states[crd]
	delete(s.states, crd)
	delete(s.routes, crd)
	s.news()
	if s.asked[crd] != nil {
		send(s.changed, crd)
	}
	if !known || before.labelOrigin.Owner == "" {
		return "an unknown field manager", known
	}
	return before.labelOrigin.Owner, true
}

// found is what walks over a CRD have found.
func (s *StateStore) found(crd string) (f findings) {
	s.with(crd, func(known *state) { f = known.findings })
	return f
}

// lookedThrough are the versions of which entries have been moved, and by which walk.
func (s *StateStore) lookedThrough(crd string, uid types.UID) (versions map[string]rewrite.LookedThrough) {
	s.with(crd, func(known *state) {
		if known.evidence.UID == string(uid) {
			versions = known.findings.writers.lookedThrough
		}
	})
	return versions
}

// age is how long ago the evidence about a CRD began.
func (s *StateStore) age(crd string, now time.Time) (age time.Duration) {
	s.with(crd, func(known *state) { age = now.Sub(known.began) })
	return age
}

// tellsLabelOrigin notes what is reported of the opt-in label and reports whether it is something else than the last
// time.
func (s *StateStore) tellsLabelOrigin(crd string, v labelorigin.Verdict) (fresh bool) {
	s.with(crd, func(known *state) { fresh, known.labelOrigin = known.labelOrigin != v, v })
	return fresh
}

// tellsProgress notes that progress is reported now, unless it was a moment ago.
func (s *StateStore) tellsProgress(crd string, now time.Time) (due bool) {
	s.with(crd, func(known *state) {
		if due = now.Sub(known.progressAt) >= progressInterval; due {
			known.progressAt = now
		}
	})
	return due
}

// tellsReason notes that a reason is written now, with its message, and reports whether it is another one than the last.
func (s *StateStore) tellsReason(crd, reason, message string, now time.Time) (fresh bool) {
	s.with(crd, func(known *state) {
		fresh, known.reason, known.message, known.reasonAt = known.reason != reason, reason, message, now
	})
	return fresh
}

// isEcho reports whether a reason was written by this process a moment ago. If the CRD does not show it, the cache is
// not up to date yet, or another process of ours writes, too. Two that answer each other at once would never stop.
func (s *StateStore) isEcho(crd, reason string, now time.Time) (echo bool) {
	s.with(crd, func(known *state) { echo = known.reason == reason && now.Sub(known.reasonAt) < progressInterval })
	return echo
}

// isEchoOf is isEcho of a message, which another process words otherwise: it may have other settings.
func (s *StateStore) isEchoOf(crd, message string, now time.Time) (echo bool) {
	s.with(crd, func(known *state) { echo = known.message == message && now.Sub(known.reasonAt) < progressInterval })
	return echo
}
