package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Migrator is the one that is put to the test.
type Migrator struct {
	Settle time.Duration
	Belief Belief // Nothing for Moult itself
}

// Result is what came of a play.
type Result struct {
	// Refuted is the claim that was refuted; empty if none was.
	Refuted string
	// Unfinished says what was still not done a long time after the last event; empty if all was.
	Unfinished string
	// Story is all that happened, a line each.
	Story []string
	// Seen is what there was to see.
	Seen map[Sight]bool
}

// patience is how long after the last event the migration may take: pauses after failures of up to 10 minutes, and two
// walks and settle times.
const patience = 45 * time.Minute

// world is one play.
type world struct {
	plan     Schedule
	migrator Migrator
	etcd     *etcd
	claims   *claims
	began    time.Time
	running  sync.WaitGroup // everything that is under way
	over     chan struct{}  // closed at the end
	alive    atomic.Int32   // processes

	// With etcd's lock:
	flipped    int64 // revision of the last storage flip
	remembered *v1alpha1.ProofStatus
	open       bool // the gate
	made       int  // CRDs
	backups    map[Event]backup

	telling sync.Mutex
	story   []string
	said    string // last
	seen    map[Sight]bool
}

// Play plays a schedule. The same schedule gives the same result.
func Play(t *testing.T, s Schedule, m Migrator) (result Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w := &world{
			plan: s, migrator: m, etcd: newEtcd(), began: time.Now(), over: make(chan struct{}),
			seen: map[Sight]bool{}, backups: map[Event]backup{},
		}
		w.claims = &claims{w: w, promises: map[string]promise{}}
		result = w.play()
	})
	return result
}

func (w *world) play() Result {
	w.etcd.install(versions[0], w.uid())
	for _, name := range objectNames[:w.plan.Objects] {
		w.etcd.put(name, record{version: versions[0]})
	}
	for i := range w.etcd.past {
		w.etcd.past[i].at = time.Time{} // long ago, for lists that are old
	}
	for _, d := range w.deeds() {
		time.Sleep(time.Until(w.began.Add(d.at)))
		if w.broken() != "" {
			break
		}
		d.do()
	}
	r := Result{Unfinished: w.finish()}
	close(w.over)
	w.running.Wait()
	time.Sleep(time.Hour) // for timers that nobody waits for
	r.Refuted, r.Story, r.Seen = w.broken(), w.story, w.seen
	return r
}

// deed is something that begins at a moment.
type deed struct {
	at time.Duration
	do func()
}

func (w *world) deeds() (all []deed) {
	for i, p := range w.plan.Processes {
		at := p.From + time.Duration(i+1)*time.Microsecond // nothing happens at the same time as something else
		all = append(all, deed{at, func() { w.start(i, p) }})
	}
	for i, e := range w.plan.Events {
		at := e.At + time.Duration(i+1)*time.Nanosecond
		if e.Kind == Restore {
			all = append(all, deed{at - min(e.Back, e.At), func() { w.backup(e) }})
		}
		all = append(all, deed{at, func() { w.happens(e) }})
	}
	slices.SortStableFunc(all, func(a, b deed) int { return cmp.Compare(a.at, b.at) })
	return all
}

// finish waits until the migration is done and nothing is under way that could undo it. It returns what is not done.
func (w *world) finish() string {
	time.Sleep(time.Until(w.began.Add(w.plan.end())))
	w.adopt(false)
	for deadline := time.Now().Add(patience); w.broken() == ""; time.Sleep(time.Second) {
		missing := w.missing()
		if missing == "" || time.Now().After(deadline) {
			return missing
		}
	}
	return ""
}

// missing is what is not done.
func (w *world) missing() string {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	crd := w.etcd.current()
	switch storage := storageVersion(crd); {
	case !migrated(crd):
		return fmt.Sprintf("the condition of generation %d is not True", crd.Generation)
	case !slices.Equal(crd.Status.StoredVersions, []string{storage}):
		return fmt.Sprintf("storedVersions is %v at storage version %s", crd.Status.StoredVersions, storage)
	case !slices.Contains(leaving, storage) && !w.open:
		return "the gate is shut"
	}
	return ""
}

// happens has an event take place.
func (w *world) happens(e Event) {
	w.tell("%s", e)
	switch e.Kind {
	case Update, Put, Touch, Delete:
		w.running.Go(func() { w.clientWrites(e) })
	case DeleteAll:
		w.running.Go(func() { w.clientDeletesAll(e) })
	case Orphan:
		w.orphan(e)
	case Restore:
		w.restore(e)
	case Recreate:
		w.recreate(e.Version)
	case Flip, Edit, Trick, Doubt:
		w.etcd.mu.Lock()
		defer w.etcd.mu.Unlock()
		w.edited(e)
	case Blind, Down, Lose: // looked up by the wire
	}
}

// edited is a change of the CRD. It needs etcd's lock.
func (w *world) edited(e Event) {
	crd := w.etcd.current()
	storage := cmp.Or(e.Version, storageVersion(crd))
	if e.Kind == Trick || e.Kind == Doubt {
		crd = crd.DeepCopy()
		if e.Kind == Trick {
			crd.Status.StoredVersions, w.claims.excused = []string{storage}, true
		} else if !slices.Contains(crd.Status.StoredVersions, versions[0]) {
			crd.Status.StoredVersions = append(crd.Status.StoredVersions, versions[0])
		}
		w.etcd.commit(crd)
		return
	}
	if storage != storageVersion(crd) {
		w.flipped = w.etcd.revision + 1
	}
	w.etcd.edit(storage)
	w.claims.check()
}

// recreate deletes the CRD and makes it anew a moment later. Servers that have not heard of it may still store objects
// the old way, which storedVersions does not know.
func (w *world) recreate(storage string) {
	w.etcd.mu.Lock()
	for _, name := range w.etcd.names() {
		w.etcd.remove(name)
	}
	w.etcd.commit(nil)
	w.claims.excused, w.remembered, w.open = true, nil, false
	w.claims.check()
	w.etcd.mu.Unlock()
	time.Sleep(time.Millisecond)
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	w.etcd.install(storage, w.uid())
	w.flipped = w.etcd.revision
}

// uid is one that no CRD has had before. It needs etcd's lock, once the play has begun.
func (w *world) uid() string {
	w.made++
	return strconv.Itoa(w.made)
}

func (w *world) broken() string {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	return w.claims.broken
}

// tell adds a line to the story, unless it only says the last one again. The story ends with a refuted claim.
func (w *world) tell(format string, args ...any) {
	w.telling.Lock()
	defer w.telling.Unlock()
	if said := fmt.Sprintf(format, args...); said != w.said && !strings.HasPrefix(w.said, refuted) {
		w.story = append(w.story, fmt.Sprintf("%8.3fs  %s", time.Since(w.began).Seconds(), said))
		w.said = said
	}
}

// short is an error as a story tells it.
func short(err error) string {
	switch {
	case apierrors.IsConflict(err):
		return "conflict"
	case apierrors.IsNotFound(err):
		return "not found"
	default:
		return strings.TrimSpace(err.Error())
	}
}
