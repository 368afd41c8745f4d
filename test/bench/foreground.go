package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/builders"
)

const (
	foregroundGroup   = "foreground.example.com"
	foregroundObjects = 100
	readsPerSecond    = 20
	writesPerSecond   = 5
)

// foreground is another client of the API server, on another CRD, past the proxy: it reads and writes at a steady rate
// whatever happens, and notes how long each answer took from when its request was due.
type foreground struct {
	objects dynamic.ResourceInterface
	stop    func()

	mu      sync.Mutex
	samples []sample
}

// sample is one request of the foreground client.
type sample struct {
	due    time.Time
	took   time.Duration
	write  bool
	failed bool
}

func (s *stage) startForeground(ctx context.Context) (*foreground, error) {
	crd := builders.CRD(foregroundGroup, "gadgets").Build()
	if err := builders.Install(ctx, s.cp.Config, crd); err != nil {
		return nil, err
	}
	gvr := builders.Resource(crd, "v1")
	if err := builders.CreateObjects(ctx, s.cp.Config, gvr, namespace, foregroundObjects); err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(rest.CopyConfig(s.cp.Config))
	if err != nil {
		return nil, err
	}
	return newForeground(ctx, client, gvr), nil
}

func newForeground(ctx context.Context, client dynamic.Interface, gvr schema.GroupVersionResource) *foreground {
	ctx, cancel := context.WithCancel(ctx)
	f := &foreground{objects: client.Resource(gvr).Namespace(namespace)}
	var requests sync.WaitGroup
	requests.Go(func() { f.steadily(ctx, &requests, readsPerSecond, false) })
	requests.Go(func() { f.steadily(ctx, &requests, writesPerSecond, true) })
	f.stop = func() { cancel(); requests.Wait() }
	return f
}

// steadily sends a request whenever one is due, also while others wait for their answers.
func (f *foreground) steadily(ctx context.Context, requests *sync.WaitGroup, perSecond int, write bool) {
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case due := <-tick.C:
			requests.Go(func() { f.request(ctx, due, write, i) })
		case <-ctx.Done():
			return
		}
	}
}

func (f *foreground) request(ctx context.Context, due time.Time, write bool, i int) {
	name := fmt.Sprintf("object-%05d", rand.IntN(foregroundObjects))
	var err error
	if write {
		patch := fmt.Appendf(nil, `{"spec":{"size":%d}}`, i)
		_, err = f.objects.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	} else {
		_, err = f.objects.Get(ctx, name, metav1.GetOptions{})
	}
	if ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.samples = append(f.samples, sample{due: due, took: time.Since(due), write: write, failed: err != nil})
}

// between are the times of all requests that were due in this time, in milliseconds, and how many of them failed.
func (f *foreground) between(from, to time.Time) (took []float64, failed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.samples {
		if s.due.Before(from) || s.due.After(to) {
			continue
		}
		took = append(took, milliseconds(s.took))
		if s.failed {
			failed++
		}
	}
	return took, failed
}
