package migration

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	crds "github.com/moult-dev/moult/api/crd"
)

// unlabelled wakes the reconciler, once at the start, for CRDs that carry our condition but no longer the label. It was
// removed while no Moult ran, and the watch of labelled CRDs will never report that.
func (r *Reconciler) unlabelled(list lister) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		go func() {
			names, err := r.findUnlabelled(ctx, list)
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

// lister lists CRDs.
type lister interface {
	List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error
}

// findUnlabelled reads the metadata of all CRDs, a page at a time.
func (r *Reconciler) findUnlabelled(ctx context.Context, list lister) (names []string, err error) {
	page := &metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	for {
		if err := list.List(ctx, page, client.Limit(500), client.Continue(page.Continue)); err != nil {
			return names, fmt.Errorf("listing CRDs: %w", err)
		}
		for _, crd := range page.Items {
			if !crds.OptedIn(&crd, r.opts.LabelKey) && r.applied(crd.ManagedFields) {
				names = append(names, crd.Name)
			}
		}
		if page.Continue == "" {
			return names, nil
		}
	}
}
