package faults_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/moult-dev/moult/test/faults"
)

// through flips the storage and runs a controller through rules that stay until each has hit what it is to hit, or has
// for a few seconds.
func through(rules ...faults.Rule) func(*world) {
	return func(w *world) {
		injected := make([]*faults.Injected, len(rules))
		for i, rule := range rules {
			injected[i] = w.proxy.Inject(rule)
		}
		w.flip()
		w.begin()
		w.start()
		for _, rule := range injected {
			w.until(fmt.Sprintf("requests are hit, at least %d", least(rule)), func() bool { return rule.Hits() >= least(rule) })
		}
		w.until("the fault has had its time or the pass its end", func() bool {
			return time.Since(w.began) > 8*time.Second || w.isDone()
		})
	}
}

// unharmed has nothing go wrong. A pass over these few objects is over long before the settle time is.
func unharmed(w *world) {
	w.settle = 8 * time.Second
	w.flip()
	w.begin()
	w.start()
}

// least is how often a rule must have hit before anything is shown.
func least(rule *faults.Injected) int {
	if rule.Times > 0 && rule.Probability == 0 {
		return rule.Times
	}
	return 2
}

// forAWhile is a fault of three seconds.
func forAWhile(rule faults.Rule) func(*world) {
	return func(w *world) {
		w.flip()
		w.begin()
		injected := w.proxy.Inject(rule)
		w.midPass(func() { w.start() })
		w.until("requests are hit", func() bool { return injected.Hits() > 0 })
		time.Sleep(3 * time.Second)
	}
}

func cut(w *world) {
	w.flip()
	w.begin()
	w.midPass(func() { w.start() })
	for range 15 {
		w.proxy.Cut()
		time.Sleep(200 * time.Millisecond)
	}
}

func babble(w *world) {
	w.flip()
	w.begin()
	w.midPass(func() { w.start() })
	w.proxy.Babble()
	time.Sleep(3 * time.Second)
}

// chaos hits one request in six with whatever the seed decides, also those about CRDs and gates.
func chaos(w *world) {
	random := rand.New(rand.NewPCG(*seedFlag, 2))
	kinds := []faults.Fault{
		faults.Drop(300 * time.Millisecond), faults.DropAnswer(300 * time.Millisecond), faults.Delay(200 * time.Millisecond), faults.Reset(),
		faults.Conflict(), faults.Expired(true), faults.Expired(false), faults.TooMany(1), faults.InternalError(), faults.Unavailable(),
	}
	random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	w.flip()
	w.begin()
	w.start()
	hits := 0
	var injected []*faults.Injected
	for _, kind := range kinds {
		injected = append(injected, w.proxy.Inject(faults.Rule{Probability: 0.02, Fault: kind}))
	}
	w.until("twenty requests are hit, or the pass has had eight seconds", func() bool {
		hits = 0
		for _, rule := range injected {
			hits += rule.Hits()
		}
		return hits >= 20 || time.Since(w.began) > 8*time.Second
	})
	w.t.Logf("%d requests hit", hits)
}
