package rewrite

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Probe reads one object at each of the given versions, which makes the API
// server call the conversion webhook at least once if it ever has to, and
// returns a *Stopped if that fails. One probe before a walk finds a dead webhook
// that the walk would otherwise find once per object.
func (c *Client) Probe(ctx context.Context, gr schema.GroupResource, versions []string) error {
	for _, version := range versions {
		_, err := c.Resource(gr.WithVersion(version)).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return stopFor(fmt.Errorf("reading one object of %s at %s: %w", gr, version, err))
	}
	return nil
}
