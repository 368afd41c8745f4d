package faults

import (
	"context"
	"math/rand/v2"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
)

// Objects are other Objects whose requests go wrong as Fail says: for walks that run without a reconciler, and for errors
// that no server sends.
type Objects struct {
	rewrite.Objects
	// Fail is asked before each request, from several goroutines. What it returns is the outcome; nil passes the
	// request on.
	Fail func(Call) *Failure
}

// Call is one request to Objects.
type Call struct {
	Verb string // list, get or patch
	Key  types.NamespacedName
	// Continue is the token of a list that goes on.
	Continue string
}

// Failure is how a request goes wrong.
type Failure struct {
	Err error
	// Done has the request carried out all the same: only its answer is lost.
	Done bool
}

// List returns one page, or the failure.
func (o *Objects) List(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	return attempt(o.Fail(Call{Verb: "list", Continue: opts.Continue}), func() (*metav1.PartialObjectMetadataList, error) {
		return o.Objects.List(ctx, opts)
	})
}

// Get returns one object's metadata, or the failure.
func (o *Objects) Get(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	return attempt(o.Fail(Call{Verb: "get", Key: key}), func() (*metav1.PartialObjectMetadata, error) {
		return o.Objects.Get(ctx, key)
	})
}

// Patch writes one object, or fails; it may do both.
func (o *Objects) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	return attempt(o.Fail(Call{Verb: "patch", Key: key}), func() (*metav1.PartialObjectMetadata, error) {
		return o.Objects.Patch(ctx, key, pt, body)
	})
}

func attempt[T any](failure *Failure, request func() (*T, error)) (*T, error) {
	if failure == nil {
		return request()
	}
	if failure.Done {
		_, _ = request()
	}
	return new(T), failure.Err
}

// Sometimes has each request fail with this probability, in one of these ways, as the seed decides.
func Sometimes(seed uint64, probability float64, ways ...Failure) func(Call) *Failure {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	return func(Call) *Failure {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() >= probability {
			return nil
		}
		way := ways[random.IntN(len(ways))]
		return &way
	}
}
