package rewrite

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// readers are those who read whole objects behind webhooks. A request there hangs for as long as a tenant likes, and holds a reader:
// what the answer will take is not known. So each resource has a share, of one of four readers.
type readers struct {
	shares *shares

	mu sync.Mutex
	of map[schema.GroupResource]*reading // that have a reader, or wait
}

type reading struct {
	*share
	readers int
}

func newReaders(n int64) *readers {
	return &readers{shares: newShares(n), of: map[schema.GroupResource]*reading{}}
}

func (r *readers) enter(ctx context.Context, of schema.GroupResource) (leave func(), err error) {
	r.mu.Lock()
	reads := r.of[of]
	if reads == nil {
		reads = &reading{share: r.shares.share()}
		r.of[of] = reads
	}
	reads.readers++
	r.mu.Unlock()
	if err := reads.acquire(ctx, 1); err != nil {
		r.end(of)
		return nil, err
	}
	return func() { reads.release(1); r.end(of) }, nil
}

func (r *readers) end(of schema.GroupResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[of].readers--; r.of[of].readers == 0 {
		delete(r.of, of)
	}
}
