package migration

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/source"

	crds "github.com/moult-dev/moult/api/crd"
)

// unlabelled wakes the reconciler, once at the start, for CRDs that carry our condition but no longer the label. It was
// removed while no Moult ran, and the watch of labelled CRDs will never report that.
func (r *Reconciler) unlabelled() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		go func() {
			names, err := r.findUnlabelled(ctx)
			if err != nil && ctx.Err() == nil {
				ctrl.LoggerFrom(ctx).Error(err, "looking for CRDs that lost their label while the controller was away")
			}
			for _, name := range names {
				queue.Add(request(name))
			}
		}()
		return nil
	})
}

// findUnlabelled reads the metadata of all CRDs, a page at a time: with annotations each may be a quarter of a megabyte or more.
func (r *Reconciler) findUnlabelled(ctx context.Context) (names []string, err error) {
	err = r.objects.EachMetadata(ctx, crdsResource, r.opts.Clock, func(crd *metav1.PartialObjectMetadata) {
		if !crds.OptedIn(crd, r.opts.LabelKey) && r.applied(crd.ManagedFields) {
			names = append(names, crd.Name)
		}
	})
	if err != nil {
		return names, fmt.Errorf("listing CRDs: %w", err)
	}
	return names, nil
}
