package stage

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/moult-dev/moult/test/e2e/story"
)

// Witness watches until the test ends and fails it if one of the checks is ever done while etcd holds bytes at the old
// version: a gate that opened too early, whatever comes of it. It asks etcd after the check, so that a gate that opens
// in between cannot be missed; nobody writes at the old version in these stories once it has opened.
func (s *Stage) Witness(t *testing.T, opens ...story.Check) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			for _, open := range opens {
				if tooEarly := s.tooEarly(ctx, open); tooEarly != "" {
					t.Errorf("too early: %s", tooEarly)
					return
				}
			}
			select {
			case <-time.After(story.Pace):
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() {
		leave()
		watching.Wait()
	})
}

// tooEarly is what was seen, or nothing if all is well or cannot be known at the moment.
func (s *Stage) tooEarly(ctx context.Context, open story.Check) string {
	seen, isOpen, err := open(ctx)
	if err != nil || !isOpen {
		return ""
	}
	held, old, err := s.StoredAtOld()(ctx)
	if err != nil || !old {
		return ""
	}
	return seen + ", while " + held
}
