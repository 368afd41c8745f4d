package removal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/verdict"
	"github.com/moult-dev/moult/policies/words"
)

// References looks through a cluster for what names versions that are to go.
type References interface {
	// Look is one look at all objects of the cluster. What it could not read is in the
	// report; an error means that there is none.
	Look(ctx context.Context, targets []survivors.Target) (survivors.Report, error)
}

// looks has the cluster looked through for all VersionRemovals together, one look after
// the other: each resource is listed once, however many gates ask.
type looks struct {
	references References
	every      time.Duration // how often, while somebody asks
	clock      clock.Clock

	mu     sync.Mutex
	wanted map[types.NamespacedName]wanted
	last   *look         // that has ended
	asked  chan struct{} // of size 1: somebody asks for something
	ended  chan string   // CRDs that a look has been made for
}

// wanted is a look that a VersionRemoval asks for.
type wanted struct {
	target survivors.Target
	since  time.Time // when it may begin
	counts bool      // what it wants to leave does not stay for others
}

// look is one that has ended.
type look struct {
	began, done time.Time
	targets     []survivors.Target
	report      survivors.Report
	failure     string
}

const (
	// restShare is how long a rest after a look is, as a multiple of the look. leastRest is how long it is at least, or
	// the interval of looks if that is shorter.
	restShare = 5
	leastRest = 5 * time.Second
)

func newLooks(references References, every time.Duration, clock clock.Clock) *looks {
	return &looks{
		references: references, every: every, clock: clock,
		wanted: map[types.NamespacedName]wanted{}, asked: make(chan struct{}, 1), ended: make(chan string),
	}
}

// mostVersions is how many versions a CRD may list, to be looked for. A tenant may have thousands VersionRemovals of one with thousands of
// versions, and each of them keeps which stay.
const mostVersions = 100

// want asks for a look that begins at a time or later. It may be asked for again and
// again. Counts is whether who asks has a say in what the CRD calls removable.
func (l *looks) want(name types.NamespacedName, crd *apiextensionsv1.CustomResourceDefinition, versions []string, since time.Time, counts bool) {
	if len(crd.Spec.Versions) > mostVersions {
		l.withdraw(name)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted[name] = wanted{survivors.TargetOf(crd, versions, nil), since, counts}
	select {
	case l.asked <- struct{}{}:
	default:
	}
}

// withdraw is for VersionRemovals that are gone, or are answered for good.
func (l *looks) withdraw(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.wanted, name)
}

// found is what the last look has found of versions of a CRD as it is now; nil if it was
// not about them. Those that others want to leave, too, are taken for versions that leave
// if these others count: then one commit may remove them all. Anybody may ask for a version
// that stays, so of those who do not count each is answered for itself alone.
func (l *looks) found(crd *apiextensionsv1.CustomResourceDefinition, versions []string) *verdict.References {
	if listed := len(crd.Spec.Versions); listed > mostVersions {
		return &verdict.References{At: l.clock.Now(), Failure: fmt.Sprintf("the CRD lists %d versions, and with more than %d it is not looked for what names them", listed, mostVersions)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	leaving := slices.Clone(versions)
	for _, w := range l.wanted {
		if w.counts && w.target.CRD == crd.Name {
			leaving = append(leaving, w.target.Leaving...)
		}
	}
	if l.last == nil || !l.last.covers(versions, survivors.TargetOf(crd, leaving, nil)) {
		return nil
	}
	return &verdict.References{At: l.last.began, Report: l.last.report.Of(crd.Name, crd.Spec.Group, versions, leaving...), Failure: l.last.failure}
}

// covers reports whether the look was about all of these versions. A version that it took for one that stays, or is
// served so that a rule goes on matching, has to be so still. The look may have been about more versions: those that do
// not leave in the target stay.
func (k *look) covers(versions []string, target survivors.Target) bool {
	return slices.ContainsFunc(k.targets, func(t survivors.Target) bool {
		then := t.Own(target.Leaving)
		return t.CRD == target.CRD && slices.Equal(t.Kinds, target.Kinds) && t.Plural == target.Plural &&
			within(versions, t.Leaving) && within(then.Staying, target.Staying) && within(then.Served, target.Served)
	})
}

// within reports whether all of some versions are among others.
func within(versions, others []string) bool {
	return !slices.ContainsFunc(versions, func(v string) bool { return !slices.Contains(others, v) })
}

// Start looks when it is time to, until ctx ends.
func (l *looks) Start(ctx context.Context) error {
	for ctx.Err() == nil { // a look that was cut off stays due
		var timer <-chan time.Time
		if due, some := l.due(); some {
			wait := due.Sub(l.clock.Now())
			if wait <= 0 {
				l.look(ctx)
				continue
			}
			timer = l.clock.After(wait)
		}
		select {
		case <-timer:
		case <-l.asked:
		case <-ctx.Done():
		}
	}
	return nil
}

// due is when the next look is to begin, if anybody wants one.
func (l *looks) due() (due time.Time, some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.wanted {
		at := w.since
		if l.last != nil && l.last.covers(w.target.Leaving, w.target) && !l.last.began.Before(w.since) {
			at = l.last.began.Add(l.every)
		}
		if !some || at.Before(due) {
			due, some = at, true
		}
	}
	if l.last != nil {
		rested := l.last.done.Add(max(min(leastRest, l.every), restShare*l.last.done.Sub(l.last.began)))
		if due.Before(rested) {
			due = rested
		}
	}
	return due, some
}

// look is one look, for all that is wanted by now.
func (l *looks) look(ctx context.Context) {
	k := &look{began: l.clock.Now(), targets: l.targets()}
	report, err := l.references.Look(ctx, k.targets)
	if ctx.Err() != nil {
		return
	}
	if k.report = report; err != nil {
		k.failure = words.Clip(err.Error(), 500)
		ctrl.LoggerFrom(ctx).Error(err, "looking for what names versions that are to go")
	}
	k.done = l.clock.Now()
	l.mu.Lock()
	l.last = k
	l.mu.Unlock()
	for _, t := range k.targets {
		select {
		case l.ended <- t.CRD:
		case <-ctx.Done():
			return
		}
	}
}

// targets are what all who ask want to know, each CRD once. What that is for each of them
// is decided by found.
func (l *looks) targets() (targets []survivors.Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.wanted {
		at := slices.IndexFunc(targets, func(t survivors.Target) bool { return t.CRD == w.target.CRD })
		if at < 0 {
			targets = append(targets, w.target)
			continue
		}
		targets[at] = targets[at].With(w.target.Leaving)
	}
	slices.SortFunc(targets, func(a, b survivors.Target) int { return strings.Compare(a.CRD, b.CRD) })
	return targets
}
