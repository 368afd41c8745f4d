package inspect

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/survivors"
)

// objectScan is the look through the objects of one resource.
type objectScan struct {
	*scan
	listed

	n     int64
	batch survivors.Batch
	// failures counts objects that could be listed and not read, and failure is the first of them.
	failures int
	failure  error
}

// restart forgets what was found: the list begins anew.
func (o *objectScan) restart() {
	o.n, o.batch, o.failures, o.failure = 0, o.survey.NewBatch(), 0, nil
}

// readMetadata lists the metadata of all objects, and reads those whole of which a place needs it.
func (o *objectScan) readMetadata(ctx context.Context) error {
	list := o.objects.Resource(o.at).List
	return o.pages(ctx, metav1.ListOptions{Limit: o.PageSize}, o.restart, func(asked context.Context, opts metav1.ListOptions) (string, error) {
		page, err := list(asked, opts)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			o.metadata(ctx, &page.Items[i])
		}
		o.tell(page.RemainingItemCount)
		return page.Continue, ctx.Err()
	})
}

func (o *objectScan) metadata(ctx context.Context, item *metav1.PartialObjectMetadata) {
	content := survivors.OfMetadata(&item.ObjectMeta)
	if o.walker.NeedOf(o.Resource, content) != survivors.Whole {
		o.walkMetadata(ctx, content)
		return
	}
	key := types.NamespacedName{Namespace: item.Namespace, Name: item.Name}
	err := o.retry(ctx, func(ctx context.Context) error {
		return o.objects.Unpacking().TakeWhole(ctx, o.at, key, func(raw []byte) error {
			whole := &unstructured.Unstructured{}
			if err := whole.UnmarshalJSON(raw); err != nil {
				return err
			}
			o.walk(whole.Object)
			return nil
		})
	})
	switch {
	case err == nil:
	case rewrite.IsAbsent(err): // deleted since; or else the version is removed
	default:
		o.walkMetadata(ctx, content)
		if o.failures++; o.failure == nil {
			o.failure = err
		}
	}
}

// readWhole lists all objects as they are.
func (o *objectScan) readWhole(ctx context.Context) error {
	return o.pages(ctx, metav1.ListOptions{Limit: wholePerPage}, o.restart, func(ctx context.Context, opts metav1.ListOptions) (next string, err error) {
		err = o.objects.Unpacking().TakePage(ctx, o.at, opts, wholePageBytes, func(page *unstructured.UnstructuredList) {
			for i := range page.Items {
				o.walk(page.Items[i].Object)
				page.Items[i].Object = nil // the next may unpack as much as one may
			}
			o.tell(page.GetRemainingItemCount())
			next = page.GetContinue()
		})
		return next, err
	})
}

func (o *objectScan) walk(content survivors.Content) {
	o.found(content, o.walker.Walk(o.Resource, content, survivors.Whole))
}

// walkMetadata takes room only for metadata in which much is packed. If the context ends before there is some, so does the look.
func (o *objectScan) walkMetadata(ctx context.Context, content survivors.Content) {
	found, isAll := o.walker.WalkAside(o.Resource, content)
	if !isAll {
		done, err := o.objects.Unpacking().Room(ctx, 0)
		if err != nil {
			return
		}
		defer done()
		found = o.walker.Walk(o.Resource, content, survivors.OnlyMetadata)
	}
	o.found(content, found)
}

func (o *objectScan) found(content survivors.Content, references []survivors.Reference) {
	o.n++
	o.notice(o.GroupResource, content)
	o.survey.Add(o.batch, references)
}

func (o *objectScan) tell(remaining *int64) {
	total := o.n
	if remaining != nil {
		total += *remaining
	}
	if total > o.PageSize { // most resources have few objects
		o.Tell(Progress{CRD: o.Resource.String(), Done: o.n, Total: total})
	}
}

// gone reports that an object or a resource is not there any more.
func gone(err error) bool { return apierrors.IsNotFound(err) }
