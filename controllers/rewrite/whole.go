package rewrite

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

const (
	// wholeBytes is what a page of whole objects should take, in bytes as JSON, and maxWholeBytes when reading it is given up:
	// decoded it is ten times as much.
	wholeBytes    = 1 << 20
	maxWholeBytes = 2 * wholeBytes
)

// EachWhole hands over all objects of a resource with all that they hold, a page at a time, and returns the resourceVersion of
// the first: whatever was written before it has been seen. If the list has to start anew, again is called, and they all come
// once more. A Client holds one such page at a time, however many ask. The error is the context's or a *Stopped.
func (c *Client) EachWhole(ctx context.Context, gvr schema.GroupVersionResource, clk clock.Clock, again func(), take func(object map[string]any)) (listedRV string, err error) {
	pages := newReader(newPageSize(DefaultPageSize, wholeBytes), func() *backoff { return &backoff{clock: clk, jitter: rand.N[time.Duration]} }) //nolint:forbidigo // spreads requests
	pages.again = func() { listedRV = ""; again() }
	for more := true; more; more = pages.token != "" {
		rv, err := c.wholePage(ctx, gvr, pages, take)
		if err != nil {
			return "", err
		}
		listedRV = cmp.Or(listedRV, rv)
	}
	return listedRV, nil
}

// wholePage hands over the objects of the next page when its turn has come.
func (c *Client) wholePage(ctx context.Context, gvr schema.GroupVersionResource, pages *reader, take func(object map[string]any)) (rv string, err error) {
	if err := c.whole.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer c.whole.Release(1)
	var raw []byte
	err = pages.next(ctx, func(opts metav1.ListOptions) (err error) {
		raw, err = c.wholeJSON(ctx, gvr, opts, maxWholeBytes)
		return err
	})
	if err != nil {
		return "", err
	}
	page := &unstructured.UnstructuredList{}
	if err := runtime.DecodeInto(unstructured.UnstructuredJSONScheme, raw, page); err != nil {
		return "", &Stopped{Unavailable, err}
	}
	pages.size.came(int64(len(page.Items)), int64(len(raw)))
	for i := range page.Items {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		take(page.Items[i].Object)
	}
	pages.token = page.GetContinue()
	return page.GetResourceVersion(), nil
}
