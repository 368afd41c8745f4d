package rewrite

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
)

// A process may be stopped, or its machine sleep, between its look at the CRD and the writes that follow. What is sent then goes by another
// schema than what was read.
func TestAWriteThatWasHeldUpIsNotSentToAChangedCRD(t *testing.T) {
	for name, c := range map[string]struct {
		stops   time.Duration // at the first write of each worker
		changes bool
		written int
		looks   gomegatypes.GomegaMatcher // of which the first two are about the pages
	}{
		"held up, and the CRD has changed":        {stops: 20 * time.Second, changes: true, written: 2, looks: BeNumerically("<=", 4)},
		"held up, and the CRD is the same":        {stops: 20 * time.Second, written: 6, looks: BeNumerically("<=", 4)},
		"the same, a moment later":                {stops: time.Second, written: 6, looks: BeEquivalentTo(2)},
		"changed a moment after it was looked at": {stops: time.Second, changes: true, written: 6, looks: BeEquivalentTo(2)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				s := newShelf(6)
				changed, looks, sent := atomic.Bool{}, atomic.Int64{}, atomic.Int64{}
				s.takes = func(string) time.Duration {
					if sent.Add(1) > 2 {
						return 0
					}
					return c.stops
				}
				s.meanwhile = func(*shelf, string, int) { changed.Store(c.changes) }
				_, result, err := walkOver(s, func(w *Walk) {
					w.PageSize, w.Workers = 3, 2
					w.Unchanged = func(context.Context) error {
						if looks.Add(1); looks.Load() > 2 && changed.Load() {
							return &Stopped{Unavailable, errors.New("the CRD was changed")}
						}
						return nil
					}
				})
				g.Expect(looks.Load()).To(c.looks)
				g.Expect(sent.Load()).To(BeEquivalentTo(c.written))
				g.Expect(result.By[Rewritten]).To(BeEquivalentTo(c.written))
				if c.written < 6 {
					g.Expect(err).To(MatchError(ContainSubstring("the CRD was changed")))
				} else {
					g.Expect(err).NotTo(HaveOccurred())
				}
			})
		})
	}
}
