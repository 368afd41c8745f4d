// Package repairs is the engine of both repairs: what moves owner references (controllers/rewrite/owners) and stashed copies
// (controllers/rewrite/embeddedcopies) from versions that leave. A repair embeds Work and calls Run with a function that looks at
// everything once, and moves or leaves what it finds. Work repeats the look until there is nothing to do, sends requests again,
// and counts; Report is the result, and Kind puts it into words for commands and Events.
package repairs

import (
	"context"
	"errors"
	"hash/maphash"
	"reflect"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/policies/words"
)

const (
	// MaxMoves is how often one thing is moved before it is left as what comes back.
	MaxMoves = 2
	// MaxRaces is how often an object is read again after another client has written it first.
	MaxRaces = 10
	// maxLooks is how often everything is listed, if each look finds something that the one before has not seen.
	maxLooks = 10
	// maxWaits is how often a settle time is waited for: a tenant may change its CRD all the time.
	maxWaits = 2
	// maxRemembered bounds of how many things it is known how often they were done. Beyond that it begins anew: what comes back may then
	// be moved more often, by ten looks at most, and counts as moved.
	maxRemembered = 100_000
	// inFlight are the writes under way at a time without a Lane of the caller's.
	inFlight = 32
)

// Work is what every repair is given, and what becomes of it. It runs once.
type Work struct {
	// Resources are all that the cluster has, each at a version that is served. Unseen says why those of a group are not known.
	Resources []schema.GroupVersionResource
	Unseen    map[string]string
	// DryRun has the API server check each write, and writes nothing.
	DryRun bool
	// Most is how many items of each sort the report has. All are counted. 0: all.
	Most int
	// Lane paces the writes. Default: one on a pace of its own.
	Lane *throttle.Lane
	// Waits is called before a settle time is waited for. Default: it is not called.
	Waits func(*rewrite.Settling)
	// Clock is replaced in tests. Default: the real one.
	Clock clock.Clock

	*tally
}

// tally is what a Work has counted since Run began.
type tally struct {
	mu        sync.Mutex
	now       int64              // done in this look
	settling  *rewrite.Settling  // why something is not written yet, by this look: what takes longest
	times     map[uint64]int     // how often each was done, by its hash
	seed      maphash.Seed       // of the hashes, so that no client can make two alike
	unmet     [2]map[Listed]bool // by their names, in the look before and in this one
	parts     map[string]*Report // by CRD
	notLooked []NotLooked
}

// Run looks until a look finds nothing to do. What was left is in the report and is no error. It may be stopped at any time, and
// run again by another Work.
func (w *Work) Run(ctx context.Context, kind *Kind, crds []string, look func(context.Context) error) (Report, error) {
	if w.Lane == nil {
		w.Lane = throttle.New(throttle.Options{MaxInFlight: inFlight}).Lane()
	}
	if w.Clock == nil {
		w.Clock = clock.RealClock{}
	}
	w.tally = &tally{times: map[uint64]int{}, seed: maphash.MakeSeed(), parts: map[string]*Report{}}
	for _, crd := range crds {
		w.parts[crd] = &Report{}
	}
	for looks, counted, waits := 1, 0, 0; ; looks++ {
		w.now, w.notLooked, w.settling = 0, nil, nil
		w.unmet = [2]map[Listed]bool{w.unmet[1], {}}
		for _, p := range w.parts {
			p.Left = nil
		}
		before := w.moved()
		err := look(ctx)
		if !kind.InSteps || w.moved() == before {
			counted++
		}
		unfinished := w.now > 0 && !w.DryRun
		if err == nil && !unfinished && w.settling != nil && waits < maxWaits {
			waits++
			if err = w.settle(ctx); err == nil {
				continue
			}
		}
		if err != nil || !unfinished || counted == maxLooks {
			return w.report(kind, looks, unfinished && counted == maxLooks), err
		}
	}
}

// Settles reports whether an error is that something may not be written yet. The look is made again when it may.
func (w *Work) Settles(err error) bool {
	s := (*rewrite.Settling)(nil)
	if !errors.As(err, &s) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.settling == nil || w.settling.For < s.For {
		w.settling = s
	}
	return true
}

func (w *Work) settle(ctx context.Context) error {
	if w.Waits != nil {
		w.Waits(w.settling)
	}
	select {
	case <-w.Clock.After(w.settling.For):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *tally) moved() (n int64) {
	for _, p := range t.parts {
		n += p.Moved
	}
	return n
}

func (w *Work) report(kind *Kind, looks int, unfinished bool) Report {
	all := &Report{Looks: looks, Unfinished: unfinished, NotLooked: w.notLooked}
	each := map[string]Report{}
	for crd, p := range w.parts {
		p.Looks, p.Unfinished, p.NotLooked = looks, unfinished, w.notLooked
		all.add(p)
		each[crd] = p.ended(kind, w.Most)
	}
	r := all.ended(kind, w.Most)
	r.Each = each
	return r
}

// Did counts something that was done in this look, and returns how often it was done by now, as far as that is remembered. It asks for
// another look.
func (w *Work) Did(what any) (times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now++
	key := w.hash(what)
	if w.times[key] == 0 && len(w.times) >= maxRemembered {
		clear(w.times)
	}
	w.times[key]++
	return w.times[key]
}

// Times is how often something was done.
func (w *Work) Times(what any) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.times[w.hash(what)]
}

// hash differs for values of different types, which alone does not change that of what they hold.
func (w *Work) hash(what any) uint64 {
	return maphash.Comparable(w.seed, [2]any{reflect.TypeOf(what), what})
}

// Again asks for another look.
func (w *Work) Again() { w.Did(nil) }

// Count changes the numbers of one CRD.
func (w *Work) Count(crd string, change func(*Report)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.parts[crd] == nil {
		w.parts[crd] = &Report{}
	}
	change(w.parts[crd])
}

// Moved counts an item that was moved.
func (w *Work) Moved(i Item) {
	i = i.clipped()
	w.Count(i.CRD, func(r *Report) {
		r.Moved++
		r.Items = w.keep(r.Items, i)
		for _, name := range i.Writers {
			r.writes(name, 1)
		}
	})
}

func (w *Work) keep(items []Item, i Item) []Item {
	if w.Most > 0 && len(items) >= w.Most {
		return items
	}
	return append(items, i)
}

// Leave counts an item that is left for a reason, and the permission that is missing, if that is why.
func (w *Work) Leave(reason Reason, needs string, i Item) {
	i = i.clipped()
	w.Count(i.CRD, func(r *Report) {
		g := r.group(reason)
		g.Count++
		g.Items = w.keep(g.Items, i)
		if needs != "" && !slices.Contains(g.Needs, needs) {
			g.Needs = append(g.Needs, needs)
		}
	})
}

// Refuse leaves an item for the error of a request.
func (w *Work) Refuse(err error, verb string, at schema.GroupVersionResource, i Item) {
	i.Why = err.Error()
	if rewrite.IsForbidden(err) {
		w.Leave(Forbidden, Permission(verb, at), i)
		return
	}
	w.Leave(Refused, "", i)
}

// CannotLook notes a resource that could not be listed.
func (w *Work) CannotLook(resource, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := (NotLooked{resource, words.Clip(why, words.MostQuoted)}); !slices.Contains(w.notLooked, n) {
		w.notLooked = append(w.notLooked, n)
	}
}

// Listed notes how a list has ended. known is false if it could not be read; the error is the context's.
func (w *Work) Listed(ctx context.Context, resource, why string, err error) (known bool, end error) {
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil && !apierrors.IsNotFound(err): // the resource may have gone since
		w.CannotLook(resource, why)
		return false, nil
	}
	return true, nil
}

// Retry sends requests again. Each write may be sent twice: it tests what it changes, or meets what it made.
func (w *Work) Retry() rewrite.Retry { return rewrite.Retry{Clock: w.Clock} }

// DryRunOption is what requests have.
func (w *Work) DryRunOption() []string {
	if w.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Permission is as in "patch on deployments in apps".
func Permission(verb string, r schema.GroupVersionResource) string {
	if r.Group == "" {
		return verb + " on " + r.Resource
	}
	return verb + " on " + r.Resource + " in " + r.Group
}
