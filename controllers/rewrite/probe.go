package rewrite

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/policies/words"
)

// Probe reads a few objects at each of the given versions. Each object is not stored at one of them at least, so the
// API server has to call the conversion webhook. It returns a *Stopped if the webhook converts none of them: one probe
// before a walk finds what the walk would otherwise find once per object. A list alone would not do, since it may be
// served from the API server's watch cache, which holds objects that are converted already.
func (c *Client) Probe(ctx context.Context, gr schema.GroupResource, versions []string) error {
	at := words.Of(versions, func(version string) Objects { return c.Resource(gr.WithVersion(version)) })
	keys, err := someOf(ctx, at)
	if err == nil {
		err = unusable(ctx, at, keys)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return stopFor(fmt.Errorf("probing the conversion of %s at %v: %w", gr, versions, err))
	}
	return nil
}

// someOf lists a few objects, at the first version at which that works: a list
// fails as a whole if one object in it cannot be converted. A single object may be
// in the way at all versions, so a shorter list is tried as well.
func someOf(ctx context.Context, at []Objects) (keys []types.NamespacedName, err error) {
	for _, limit := range []int64{firstPage, fewest, 1} {
		for _, objects := range at {
			var list *metav1.PartialObjectMetadataList
			list, err = objects.List(ctx, metav1.ListOptions{Limit: limit})
			if err == nil {
				return spread(keysOf(list)), nil
			}
			if !spoilt(err) {
				return nil, err
			}
		}
	}
	return nil, err
}

func keysOf(list *metav1.PartialObjectMetadataList) []types.NamespacedName {
	return words.Of(list.Items, func(o metav1.PartialObjectMetadata) types.NamespacedName {
		return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	})
}
