package inspect

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/moult-dev/moult/policies/snapshot"
)

// takeObjects looks through the metadata of all objects of a CRD; nil if that cannot be done.
func (t *taker) takeObjects(ctx context.Context, crd seen) *snapshot.Objects {
	words := "the objects of " + crd.Name
	if t.opts.NoObjects {
		t.leaveOut(snapshot.ObjectsOfCRD, crd.Name, words+" were left out of the snapshot on purpose")
		return nil
	}
	if len(crd.readable) == 0 {
		t.leaveOut(snapshot.ObjectsOfCRD, crd.Name, words+" could not be read: no version of it is served")
		return nil
	}
	var failure error
	for _, version := range crd.readable {
		count := t.newCount(crd)
		err := t.walk(ctx, schema.GroupVersionResource{Group: crd.group, Version: version, Resource: crd.plural}, count)
		if err == nil {
			return count.objects()
		}
		if failure == nil {
			failure = err
		}
		if apierrors.IsForbidden(err) || ctx.Err() != nil {
			break // no other version would be better; where one object cannot be converted to a version, another may be
		}
	}
	t.miss(snapshot.ObjectsOfCRD, crd.Name, words, allow(crd.group, crd.plural, "list"), failure)
	return nil
}

// walk counts all objects, a page at a time.
func (t *taker) walk(ctx context.Context, resource schema.GroupVersionResource, count *count) error {
	return t.pages(ctx, metav1.ListOptions{Limit: t.opts.PageSize}, count.reset, func(ctx context.Context, opts metav1.ListOptions) (string, error) {
		page, err := t.objects.Resource(resource).List(ctx, opts)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			count.add(&page.Items[i])
		}
		total := count.n
		if page.RemainingItemCount != nil {
			total += *page.RemainingItemCount
		}
		t.opts.Tell(Progress{CRD: count.crd.Name, Done: count.n, Total: total})
		return page.Continue, nil
	})
}

// stuckAfter is how long a deletion may take without being remarkable.
const stuckAfter = 5 * time.Minute

// stuckExample is what is told of an object that is stuck.
func stuckExample(item *metav1.PartialObjectMetadata) string {
	return fmt.Sprintf("%s since %s", nameOf(item), item.DeletionTimestamp.UTC().Format(time.RFC3339))
}

func nameOf(item *metav1.PartialObjectMetadata) string { return cache.MetaObjectToName(item).String() }
