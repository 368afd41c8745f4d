package inspect

import (
	"context"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Watcher is called with what happens to CRDs, perhaps from several goroutines.
type Watcher struct {
	// Seen is a CRD as it is now, without its schemas.
	Seen func(*apiextensionsv1.CustomResourceDefinition)
	// Lost is the name of one that was deleted, or is no longer among those that are watched.
	Lost func(name string)
	// Refused is called when CRDs may not be watched. Other errors pass, and are tried again.
	Refused func(error)
}

// WatchCRDs reports about the named CRDs, or without names about those that a label selector selects, until ctx ends.
func (c *Cluster) WatchCRDs(ctx context.Context, names []string, selector string, w Watcher) {
	queries := []metav1.ListOptions{{LabelSelector: selector}}
	if len(names) > 0 {
		queries = nil
	}
	for _, name := range names {
		queries = append(queries, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	}
	var running sync.WaitGroup
	for _, query := range queries {
		informer := c.informer(query, w)
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	running.Wait()
}

func (c *Cluster) informer(query metav1.ListOptions, w Watcher) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector, opts.FieldSelector = query.LabelSelector, query.FieldSelector
			return c.crds.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector, opts.FieldSelector = query.LabelSelector, query.FieldSelector
			return c.crds.Watch(ctx, opts)
		},
	}, &apiextensionsv1.CustomResourceDefinition{}, 0, nil)
	_ = informer.SetTransform(func(object any) (any, error) {
		if crd, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok {
			crd.ManagedFields = nil
			return withoutSchemas(crd), nil
		}
		return object, nil
	})
	_ = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			w.Refused(err)
		} // anything else passes, and the informer tries again
	})
	seen := func(object any) {
		if crd, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok {
			w.Seen(crd)
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    seen,
		UpdateFunc: func(_, after any) { seen(after) },
		DeleteFunc: func(object any) {
			if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
				w.Lost(name)
			}
		},
	})
	return informer
}
