package rewrite

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Whole reads one object with all it holds, as JSON. Everything else here reads
// metadata only.
func (c *Client) Whole(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r := &resource{client: c, gvr: gvr}
	return c.rest.Get().AbsPath(r.path(key)...).SetHeader("Accept", "application/json").MaxRetries(0).Do(ctx).Raw()
}
