package rewrite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// recently is how long ago another write may have been accepted for an object that is never answered to be the
	// exception. It is longer than two writes that hang until their timeout, with the pause between them.
	recently = 5 * time.Minute
	// suspicious is how many objects in a row have to fail to be converted before
	// others are asked about.
	suspicious = 8
	// fewest is how many objects have to fail to be converted, and none not to, for the webhook to be at fault. Fewer
	// are named, which says more.
	fewest = 3
	// sampled is how many objects of a page are asked about.
	sampled = 5
)

// breaker knows how the writes of a walk have fared, over all objects. It distinguishes an object that fails alone from
// a server or a webhook that fails all.
type breaker struct {
	mu          sync.Mutex
	last        time.Time              // when a write was last accepted
	unconverted int                    // objects since then that could not be converted
	sample      []types.NamespacedName // objects from all over the last page
}

// servedAt notes that a write was accepted.
func (b *breaker) servedAt(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last, b.unconverted = now, 0
}

// served reports whether a write was accepted not long ago.
func (b *breaker) served(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.last.IsZero() && now.Sub(b.last) < recently
}

// suspects notes an object that could not be converted. It returns the objects to
// ask about if it is one of many; their number is counted anew from here.
func (b *breaker) suspects() []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unconverted++; b.unconverted < suspicious {
		return nil
	}
	b.unconverted = 0
	return b.sample
}

// listed notes which objects there are to ask about.
func (b *breaker) listed(keys []types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sample = spread(keys)
}

// spread takes a few from all over a list.
func spread[T any](all []T) (some []T) {
	n := min(sampled, len(all))
	for i := range n {
		some = append(some, all[i*(len(all)-1)/max(1, n-1)])
	}
	return some
}

// judgeConversion ends the walk if the conversion webhook is at fault that an
// object could not be converted: what it says does not tell, other objects do.
func (w *Walk) judgeConversion(ctx context.Context, key types.NamespacedName, err error) error {
	sample := w.breaker.suspects()
	if len(sample) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	found := unusable(ctx, append([]Objects{w.Objects}, w.Otherwise...), sample)
	if c, _ := classify(found); found == nil || c != unconverted || ctx.Err() != nil {
		return ctx.Err()
	}
	return stopFor(fmt.Errorf("%s, like %d others in a row: %w", key, suspicious-1, err))
}

// unusable reads objects at several versions, at least one of which each is not stored at, so that the API server has
// to call the conversion webhook. It reads all at once, because the API server waits 30 s for one that hangs. It
// returns nil as soon as one object could be read at all of them, or if too few could be asked about. Otherwise what
// was said of the last one.
func unusable(ctx context.Context, at []Objects, keys []types.NamespacedName) error {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	answers := make(chan error, len(keys))
	for _, key := range keys {
		go func() { answers <- readable(ctx, at, key) }()
	}
	failed, last := 0, error(nil)
	for range keys {
		err := <-answers
		if err == nil {
			return nil
		}
		switch c, _ := classify(err); c {
		case absent:
		case unconverted:
			failed, last = failed+1, err
		case rejected:
			return nil
		case conflict, busy, flaky, forbidden, unreadable, noRoute:
			return err
		}
	}
	if failed < fewest {
		return nil
	}
	return last
}

// readable reads an object at all versions, of which an answer is enough, however long; the error names it.
func readable(ctx context.Context, at []Objects, key types.NamespacedName) error {
	ctx = (&answers{most: growth}).within(ctx)
	for _, objects := range at {
		if _, err := objects.Get(ctx, key); err != nil && !errors.Is(err, ErrAnswerTooLarge) {
			return fmt.Errorf("reading %s: %w", key, err)
		}
	}
	return nil
}
