package rewrite

import (
	"context"
	"slices"
	"sync"
)

// shares is room that several walks use, of which each has a share. What a request holds that hangs in a tenant's webhook is not given
// back for as long as the tenant likes, so no walk may take all of it. A walk has no more than half of what it leaves free, besides its
// first claim: one alone has a third, and n leave two parts in n+2. And none gets more while one waits that holds nothing.
type shares struct {
	mu      sync.Mutex
	free    int64
	waiting []*share // the longest first
}

// share is what one walk holds. It needs no closing: one without claims takes no part.
type share struct {
	of     *shares
	held   int64
	claims []*claim // that wait
}

type claim struct {
	amount  int64
	granted chan struct{}
}

func newShares(room int64) *shares { return &shares{free: room} }

func (s *shares) share() *share { return &share{of: s} }

// acquire waits for an amount, which is no more than all the room. The error is the context's.
func (s *share) acquire(ctx context.Context, amount int64) error {
	c := &claim{amount, make(chan struct{})}
	s.of.mu.Lock()
	if s.claims = append(s.claims, c); len(s.claims) == 1 {
		s.of.waiting = append(s.of.waiting, s)
	}
	s.of.grant()
	s.of.mu.Unlock()
	select {
	case <-c.granted:
		return nil
	case <-ctx.Done():
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if i := slices.Index(s.claims, c); i >= 0 {
		s.drop(i)
	} else { // it was granted at the same moment
		s.held -= amount
		s.of.free += amount
	}
	s.of.grant()
	return ctx.Err()
}

func (s *share) release(amount int64) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.held -= amount
	s.of.free += amount
	s.of.grant()
}

// drop takes a claim off the list. A share that has others waits behind all that wait as long. The caller holds the lock, as for what follows.
func (s *share) drop(i int) {
	s.claims = slices.Delete(s.claims, i, i+1)
	s.of.waiting = slices.DeleteFunc(s.of.waiting, func(other *share) bool { return other == s })
	if len(s.claims) > 0 {
		s.of.waiting = append(s.of.waiting, s)
	}
}

// grant hands out what is free.
func (s *shares) grant() {
	for next := s.next(); next != nil; next = s.next() {
		c := next.claims[0]
		next.drop(0)
		next.held += c.amount
		s.free -= c.amount
		close(c.granted)
	}
}

// next is the share that holds least of those that may have more, and of these the one that has waited longest; nil if none may.
func (s *shares) next() (next *share) {
	urgent := slices.ContainsFunc(s.waiting, func(w *share) bool { return w.held == 0 })
	for _, w := range s.waiting {
		left := s.free - w.claims[0].amount
		may := left >= 0 && (w.held == 0 || !urgent && 2*(w.held+w.claims[0].amount) <= left)
		if may && (next == nil || w.held < next.held) {
			next = w
		}
	}
	return next
}
