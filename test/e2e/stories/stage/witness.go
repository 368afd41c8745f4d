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
	witness(t, s.StoredAtOld(), opens)
}

// Witness is the same for the objects of a chart, and the VersionRemoval in front of it.
func (v *Vendor) Witness(t *testing.T, namespace, removal string) {
	t.Helper()
	witness(t, v.StoredAtOld(), []story.Check{v.stage.removalReady(namespace, removal), v.Removed()})
}

func witness(t *testing.T, old story.Check, opens []story.Check) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			for _, open := range opens {
				if early := tooEarly(ctx, open, old); early != "" {
					t.Errorf("too early: %s", early)
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
func tooEarly(ctx context.Context, open, old story.Check) string {
	seen, isOpen, err := open(ctx)
	if err != nil || !isOpen {
		return ""
	}
	held, is, err := old(ctx)
	if err != nil || !is {
		return ""
	}
	return seen + ", while " + held
}
