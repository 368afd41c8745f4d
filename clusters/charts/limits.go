package charts

import (
	"context"
	"fmt"
	"os"
	"runtime/metrics"
	"time"
)

// DefaultTimeout is how long one chart may take. Large ones take half a second.
const DefaultTimeout = 20 * time.Second

// mostMemory is by how much the memory of this process may grow while a chart is rendered.
var mostMemory uint64 = 1 << 30

// look is how often that is measured.
const look = 10 * time.Millisecond

// Limited renders a chart, or runs another program of a pull request, within the limits of time and memory.
//
// A template cannot be interrupted. One that is given up goes on until this process ends, so if it takes twice the
// memory that it may, it takes the process with it. The machine is shared with others, and an error is never taken for
// safe.
func Limited[T any](ctx context.Context, render func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, DefaultTimeout, fmt.Errorf("it takes longer than %s", DefaultTimeout))
	defer cancel()
	type answer struct {
		rendering T
		err       error
	}
	var none T
	done := make(chan answer, 1)
	over := make(chan struct{})
	before := Heap()
	go func() {
		defer close(over)
		rendering, err := render()
		done <- answer{rendering, err}
	}()
	ticker := time.NewTicker(look) //nolint:forbidigo // it measures memory, and decides nothing by the time
	defer ticker.Stop()
	for {
		select {
		case answer := <-done:
			return answer.rendering, answer.err
		case <-ctx.Done():
			go endWith(over, before)
			return none, context.Cause(ctx)
		case <-ticker.C:
			if Heap() > before+mostMemory {
				go endWith(over, before)
				return none, fmt.Errorf("it takes more than %d MiB of memory", mostMemory>>20)
			}
		}
	}
}

// endWith ends the process when a rendering that was given up takes too much memory.
func endWith(over <-chan struct{}, before uint64) {
	if !outgrows(over, before) {
		return
	}
	fmt.Fprintf(os.Stderr, "error: a template or a program takes more than %d MiB of memory and cannot be stopped\n", 2*mostMemory>>20)
	os.Exit(1)
}

// outgrows waits until a rendering is over, or takes twice the memory that it may.
func outgrows(over <-chan struct{}, before uint64) bool {
	ticker := time.NewTicker(look) //nolint:forbidigo // as above
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return false
		case <-ticker.C:
			if Heap() > before+2*mostMemory {
				return true
			}
		}
	}
}

// Heap is the memory that objects take, in bytes, used or not yet collected.
func Heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
