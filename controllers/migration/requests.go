package migration

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/moult-dev/moult/policies/plan"
)

// requests are all that is asked for of one CRD. What they cost does not depend on
// how many ask. Since and every are the most that was asked for as long as anybody
// asks: who withdraws takes no survey back.
type requests struct {
	by       map[types.NamespacedName]plan.Removal
	versions map[string]int // how many ask for each
	since    time.Time
	every    time.Duration
}

// Ask says that asker wants versions of a CRD to go. A survey of managedFields
// younger than since will answer. The last request of an asker replaces its earlier
// one.
func (s *StateStore) Ask(crd string, asker types.NamespacedName, request plan.Removal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked[crd]
	if all == nil {
		all = &requests{by: map[types.NamespacedName]plan.Removal{}, versions: map[string]int{}}
		s.asked[crd] = all
	}
	before, known := all.by[asker]
	if known && slices.Equal(before.Versions, request.Versions) && before.Since.Equal(request.Since) && before.Every == request.Every && maps.Equal(before.Quiet, request.Quiet) {
		return
	}
	all.forget(before)
	all.note(asker, request)
	s.news()
	send(s.requested, crd)
}

func (r *requests) note(asker types.NamespacedName, request plan.Removal) {
	r.by[asker] = request
	for _, v := range request.Versions {
		r.versions[v]++
	}
	if request.Since.After(r.since) {
		r.since = request.Since
	}
	if request.Every > 0 && (r.every == 0 || request.Every < r.every) {
		r.every = request.Every
	}
}

func (r *requests) forget(request plan.Removal) {
	for _, v := range request.Versions {
		if r.versions[v]--; r.versions[v] == 0 {
			delete(r.versions, v)
		}
	}
}

// Withdraw takes a request back.
func (s *StateStore) Withdraw(crd string, asker types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked[crd]
	if all == nil {
		return
	}
	all.forget(all.by[asker])
	delete(all.by, asker)
	s.news()
	if len(all.by) == 0 {
		delete(s.asked, crd)
	}
}

// Asked are the versions of a CRD that somebody wants to go, sorted, as they were named: some may have left already, or
// may never have been there. They are nil if nothing is asked for.
func (s *StateStore) Asked(crd string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[crd] == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.asked[crd].versions))
}

// Follow calls tell, until the process ends, whenever a CRD's status or what is asked of it may have changed. It must not block
// nor ask the store.
func (s *StateStore) Follow(tell func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers = append(s.followers, tell)
}

// news informs those who follow. The caller holds the lock.
func (s *StateStore) news() {
	for _, tell := range s.followers {
		tell()
	}
}

// removal is all that is asked for of a CRD, without what can never be: the storage version cannot be removed. What the
// CRD does not have is one version, however many tenants name.
func (s *StateStore) removal(crd string, o plan.Observation, listed []string) plan.Removal {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked[crd]
	if all == nil {
		return plan.Removal{}
	}
	has := sets.New(listed...).Insert(o.StoredVersions...)
	for version := range has {
		if all.versions[version] == 0 {
			has.Delete(version)
		}
	}
	if len(all.versions) > len(has) {
		has.Insert(plan.Left)
	}
	has.Delete(o.StorageVersion)
	return plan.Removal{Versions: sets.List(has), Since: all.since, Every: all.every, Quiet: all.quiet(has)}
}

// quiet is how long all who ask for a version wait after a write at it.
func (r *requests) quiet(versions sets.Set[string]) map[string]time.Duration {
	least, asked := map[string]time.Duration{}, sets.Set[string]{}
	for _, request := range r.by {
		for _, v := range request.Versions {
			if versions.Has(v) && (!asked.Has(v) || request.Quiet[v] < least[v]) {
				least[v] = request.Quiet[v]
				asked.Insert(v)
			}
		}
	}
	return least
}

// Status is how far the migration of a CRD is; false if the migration
// reconciler has not looked at it, or does not look after it.
func (s *StateStore) Status(crd string) (status plan.MigrationStatus, known bool) {
	s.with(crd, func(is *state) {
		if known = is.status != nil; known {
			status = *is.status
		}
	})
	return status, known
}

// Changes names each CRD whose status has changed, and of a walk under way
// every tenth of it. It has one reader.
func (s *StateStore) Changes() <-chan string { return s.changed }

// publish makes what was decided about a CRD its status, and informs those who wait.
func (s *StateStore) publish(crd string, o plan.Observation, d plan.Decision) {
	s.with(crd, func(known *state) {
		status := known.findings.status()
		status.Subject, status.Decision, status.Evidence, status.Walking = o.Subject, d, o.Evidence, o.Walking
		known.status = &status
		s.news()
		switch {
		case s.asked[crd] == nil:
			known.told = nil // who asks next looks for itself
		case known.told != nil && reflect.DeepEqual(gist(*known.told), gist(status)):
		case send(s.changed, crd):
			known.told = &status
		}
	})
}

// gist is a status without what differs at every look at a walk under way.
// Those who wait may be thousands.
func gist(s plan.MigrationStatus) plan.MigrationStatus {
	s.Decision.Until = time.Time{}
	if w := s.Walking; w != nil {
		tenths := int64(w.Counts.Progress().Percent() / progressStep)
		s.Walking = &plan.Walking{Subject: w.Subject, Mode: w.Mode, Counts: plan.Counts{Total: progressStep, Current: tenths, Failed: min(w.Counts.Failed, 1)}}
		s.Decision.Sentence = "" // it has the counts
	}
	return s
}

// send drops the message if readers are too slow, and returns whether it has not: readers look again by themselves,
// only later.
func send(to chan<- string, crd string) bool {
	select {
	case to <- crd:
		return true
	default:
		return false
	}
}
