package preview

import (
	"context"
	"fmt"
	"time"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// A pull request may be made to take all memory, or for ever, and what reads it cannot be stopped from outside. Manifests may
// multiply themselves, or one may have a gigabyte. The largest repositories that are known take 0.8 GB and ten seconds.
const (
	mostMemory = 3 << 30
	longest    = 10 * time.Minute
	// grace is for those that hear of a signal: children end, and folders are removed. Who renders charts does not hear.
	grace = 3 * time.Second
)

// limit ends the process, as one that failed, if it takes more; and one that was interrupted and still runs after the grace. What it returns
// ends the watch.
func (p *command) limit(ctx context.Context, memory uint64, longest, grace time.Duration, exit func(int)) (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		end := time.After(longest)
		for {
			var why string
			select {
			case <-done:
				return
			case <-ctx.Done():
				select {
				case <-done:
				case <-time.After(grace):
					fmt.Fprintln(p.ErrOut, "error: interrupted")
					exit(cli.ExitInterrupted)
				}
				return
			case <-end:
				why = fmt.Sprintf("it takes longer than %s", longest)
			case <-ticker.C:
				if charts.Heap() <= memory {
					continue
				}
				why = fmt.Sprintf("it takes more than %d MiB of memory", memory>>20)
			}
			fmt.Fprintf(p.ErrOut, "error: the preview is given up: %s; look for a manifest that is huge, or that refers to itself many times over\n", why)
			exit(cli.ExitError)
			return
		}
	}()
	return func() { close(done) }
}
