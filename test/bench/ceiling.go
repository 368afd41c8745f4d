package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// ceiling is what this API server can take over this line: empty merge patches on the main resource that ask for
// metadata back, as many at once as is best, and nothing else. The names are known beforehand.
var ceiling = contender{
	name: "ceiling",
	start: func(ctx context.Context, e *entry) (*process, error) {
		return child(ctx, e, "ceiling", strconv.Itoa(e.workers))
	},
	begin: sayGo,
}

func runCeiling(ctx context.Context, t task, await func() error) error {
	workers, err := strconv.Atoi(t.args[0])
	if err != nil {
		return err
	}
	names, err := listNames(ctx, t.config, t.resource)
	if err != nil {
		return err
	}
	if err := await(); err != nil {
		return err
	}
	return patchAll(ctx, t.config, t.resource, names, workers)
}

func listNames(ctx context.Context, config *rest.Config, resource schema.GroupVersionResource) ([]string, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var names []string
	for next := (metav1.ListOptions{Limit: pageSize}); ; {
		page, err := client.Resource(resource).Namespace(namespace).List(ctx, next)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			names = append(names, page.Items[i].Name)
		}
		if next.Continue = page.Continue; next.Continue == "" {
			return names, nil
		}
	}
}

// pageSize is how many objects all contenders of this program list at a time, as their models do.
const pageSize = 500

// patchAll sends every object an empty merge patch, this many at once.
func patchAll(ctx context.Context, config *rest.Config, resource schema.GroupVersionResource, names []string, workers int) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	objects := client.Resource(resource).Namespace(namespace)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			_, err := objects.Patch(ctx, name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			for tries := 0; apierrors.IsTooManyRequests(err) && tries < 100; tries++ { // "storage is (re)initializing"
				time.Sleep(50 * time.Millisecond)
				_, err = objects.Patch(ctx, name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			}
			return err
		})
	}
	return group.Wait()
}

// concurrencies are tried to find the best. Beyond the last, one connection of HTTP/2 carries no more.
var concurrencies = []int{4, 8, 16, 32, 64, 100}

// sweeps are how often all of them are tried, up and down in turn, so that what changes with time counts for all alike.
const sweeps = 4

// runSearch tries each of them on its share of the objects and answers with the objects per second of each, as JSON.
func runSearch(ctx context.Context, t task, await func() error) error {
	names, err := listNames(ctx, t.config, t.resource)
	if err != nil {
		return err
	}
	if err := await(); err != nil {
		return err
	}
	share := len(names) / (sweeps * len(concurrencies))
	took := make([]time.Duration, len(concurrencies))
	for turn := range sweeps * len(concurrencies) {
		i := turn % (2 * len(concurrencies))
		i = min(i, 2*len(concurrencies)-1-i)
		started := time.Now()
		if err := patchAll(ctx, t.config, t.resource, names[turn*share:(turn+1)*share], concurrencies[i]); err != nil {
			return err
		}
		took[i] += time.Since(started)
	}
	rates := make([]float64, len(concurrencies))
	for i := range rates {
		rates[i] = float64(sweeps*share) / took[i].Seconds()
	}
	return json.NewEncoder(os.Stdout).Encode(rates)
}

// bestWorkers finds out how many patches at once the API server takes best at this round-trip time.
func (b *bench) bestWorkers(ctx context.Context, roundTrip time.Duration) (int, error) {
	set, err := b.stage.set(ctx, b.options.Objects)
	if err != nil {
		return 0, err
	}
	target, err := b.stage.flip(ctx, set, nil)
	if err != nil {
		return 0, err
	}
	proxy, kubeconfig, err := b.stage.proxy(roundTrip)
	if err != nil {
		return 0, err
	}
	defer proxy.Close()
	time.Sleep(b.options.Quiet)
	p, err := child(ctx, &entry{stage: b.stage, set: set, target: target, kubeconfig: kubeconfig}, "search")
	if err != nil {
		return 0, err
	}
	defer p.stop()
	if err := p.tell("go"); err != nil {
		return 0, err
	}
	answer, err := p.answer(ctx, patience(set.objects))
	if err != nil {
		return 0, err
	}
	var rates []float64
	if err := json.Unmarshal([]byte(answer), &rates); err != nil {
		return 0, fmt.Errorf("search: %w", err)
	}
	best, told := 0, make([]string, len(rates))
	for i, rate := range rates {
		told[i] = fmt.Sprintf("%d: %.0f/s", concurrencies[i], rate)
		if rate > rates[best] {
			best = i
		}
	}
	b.stage.say("ceiling at +%s: %s; the best is %d at once", roundTrip, strings.Join(told, ", "), concurrencies[best])
	return concurrencies[best], b.stage.settle(ctx, set, target)
}
