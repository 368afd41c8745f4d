package rewrite

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/controllers/rewrite/throttle"
)

// maxTries is how often a Retry sends one request.
const maxTries = 8

// Retry sends one request again while the API server is busy or away, up to 8 times in all. It waits 200 ms, then twice
// as long each time, up to 10 s, and never less than the API server's Retry-After. Unlike client-go's retry.OnError it
// ends with its context and waits by a clock that is handed in.
type Retry struct {
	Clock clock.Clock
	// Tries is how often, if not 8 times, and Passes which errors may pass, if not those of MayPass.
	Tries  int
	Passes func(error) bool
}

// Do returns the last error.
func (r Retry) Do(ctx context.Context, ask func() error) error {
	tries, passes := r.Tries, r.Passes
	if tries == 0 {
		tries = maxTries
	}
	if passes == nil {
		passes = MayPass
	}
	for try := 1; ; try++ {
		err := ask()
		if err == nil || ctx.Err() != nil || try == tries || !passes(err) {
			return err
		}
		pause := min(firstPause<<(try-1), longPause)
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			pause = max(pause, time.Duration(seconds)*time.Second)
		}
		select {
		case <-r.Clock.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Write is Do for a write, which waits for its turn in a lane each time. It may be sent twice.
func (r Retry) Write(ctx context.Context, lane *throttle.Lane, send func() error) error {
	return r.Do(ctx, func() error {
		permit, err := lane.Enter(ctx)
		if err != nil {
			return err
		}
		err = send()
		permit.Done(signalOf(ctx, err))
		return err
	})
}
