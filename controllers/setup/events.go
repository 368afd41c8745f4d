package setup

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// A recorder keeps each Event for 6 to 12 minutes, some kilobytes, and takes it for a new one after each write to its object
// (k8s.io/client-go tools/events, getKey). A tenant decides how often an answer changes, and how many objects there are. So these
// bounds hold for each controller: 1,720 Events in 12 minutes. The condition says the same, whatever is left out.
const (
	// sameAgain is how long an Event of one object and reason is not recorded again.
	sameAgain = time.Minute
	// lately is how many of these are remembered.
	lately = 4096
	// allAtOnce and allPerSecond are for Events of all objects, and half of it is for one namespace. CRDs have none.
	allAtOnce, allPerSecond = 1000, 1.0
	// namespaces is how many of them have their share remembered.
	namespaces = 1024
)

// Recorder is the manager's recorder, for few Events in time.
func Recorder(mgr manager.Manager, name string) events.EventRecorder {
	return newFew(mgr.GetEventRecorder(name), clock.RealClock{})
}

type few struct {
	events.EventRecorder

	clock          clock.PassiveClock
	lately, shares *cache.LRUExpireCache
	all            flowcontrol.PassiveRateLimiter
}

func newFew(recorder events.EventRecorder, clk clock.PassiveClock) *few {
	return &few{
		recorder, clk, cache.NewLRUExpireCacheWithClock(lately, clk), cache.NewLRUExpireCacheWithClock(namespaces, clk),
		flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(allPerSecond, allAtOnce, clk),
	}
}

// Eventf is an events.EventRecorder's.
func (f *few) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	if f.take(regarding, reason, action) {
		f.EventRecorder.Eventf(regarding, related, eventtype, reason, action, note, args...)
	}
}

// take reports whether one more Event may be recorded.
func (f *few) take(regarding runtime.Object, reason, action string) bool {
	about, err := apimeta.Accessor(regarding)
	if err != nil {
		return false // the recorder would refuse it
	}
	type event struct {
		uid                             types.UID
		namespace, name, reason, action string
	}
	key := event{about.GetUID(), about.GetNamespace(), about.GetName(), reason, action}
	if _, again := f.lately.Get(key); again {
		return false
	}
	f.lately.Add(key, true, sameAgain)
	return (key.namespace == "" || f.share(key.namespace).TryAccept()) && f.all.TryAccept()
}

// share is what the Events of one namespace may take, so that one tenant leaves room for others.
func (f *few) share(namespace string) flowcontrol.PassiveRateLimiter {
	known, _ := f.shares.Get(namespace)
	share, is := known.(flowcontrol.PassiveRateLimiter)
	if !is {
		share = flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(allPerSecond/2, allAtOnce/2, f.clock)
	}
	f.shares.Add(namespace, share, time.Hour)
	return share
}
