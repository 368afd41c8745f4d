package charts

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// mostKept is how many renderings are kept: those of a large cluster.
const mostKept = 256

// kept are renderings by what they were made of.
var kept = struct {
	sync.Mutex

	known map[[sha256.Size]byte]*keptOne
}{known: map[[sha256.Size]byte]*keptOne{}}

type keptOne struct {
	sync.Mutex

	done      bool
	rendering *Rendering
	err       error
}

// keptRendering renders, unless the same is known. What it returns must not be changed. That there was no time is not
// kept.
func keptRendering(key [sha256.Size]byte, render func() (*Rendering, error)) (*Rendering, error) {
	kept.Lock()
	one := kept.known[key]
	if one == nil {
		if len(kept.known) >= mostKept {
			clear(kept.known)
		}
		one = &keptOne{}
		kept.known[key] = one
	}
	kept.Unlock()
	one.Lock()
	defer one.Unlock()
	if !one.done {
		one.rendering, one.err = render()
		one.done = !errors.Is(one.err, context.Canceled) && !errors.Is(one.err, context.DeadlineExceeded)
	}
	return one.rendering, one.err
}

// key stands for a chart with all its files, and a release.
func (c *Chart) key(r Release) (key [sha256.Size]byte) {
	sum := sha256.New()
	for _, file := range c.files {
		fmt.Fprintf(sum, "%d %s %d ", len(file.Name), file.Name, len(file.Data))
		sum.Write(file.Data)
	}
	release, err := json.Marshal(r)
	fmt.Fprintf(sum, "%s %v", release, err)
	copy(key[:], sum.Sum(nil))
	return key
}
