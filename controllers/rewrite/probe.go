package rewrite

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Probe reads one object at each of the given versions, at least one of which it
// is not stored at, so that the API server has to call the conversion webhook.
// It returns a *Stopped if the webhook cannot be used: one probe before a walk
// finds what the walk would otherwise find once per object. A list alone would
// not do, since it may be served from the API server's watch cache, which holds
// objects that are converted already.
func (c *Client) Probe(ctx context.Context, gr schema.GroupResource, versions []string) error {
	for _, version := range versions {
		if err := c.probe(ctx, gr.WithVersion(version)); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return stopFor(fmt.Errorf("reading one object of %s at %s: %w", gr, version, err))
		}
	}
	return nil
}

func (c *Client) probe(ctx context.Context, gvr schema.GroupVersionResource) error {
	objects := c.Resource(gvr)
	list, err := objects.List(ctx, metav1.ListOptions{Limit: 1})
	if err == nil && len(list.Items) > 0 {
		_, err = objects.Get(ctx, types.NamespacedName{Namespace: list.Items[0].Namespace, Name: list.Items[0].Name})
	}
	if err == nil {
		return nil
	}
	if c, _ := classify(err); c == gone || c == rejected {
		return nil // of this object only; the walk will name it
	}
	return err
}
