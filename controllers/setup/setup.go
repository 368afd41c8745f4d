// Package setup is what the controllers share when they are added to a manager. Caches and clients are their own, so that an
// operator's manager need not know of CRDs. Two of them can have the same metrics in one process, and Events are as short as
// the API server wants them.
package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// maxNote is the longest note that the API server takes in an Event, in bytes
// (k8s.io/kubernetes pkg/apis/core/validation, NoteLengthLimit).
const maxNote = 1024

// Note is a text as an Event may have it.
func Note(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote-len("…")], "") + "…"
}

// Register adds a metric, or takes the one that a second reconciler in the same process has already added.
func Register[C prometheus.Collector](reg prometheus.Registerer, c *C) error {
	err := reg.Register(*c)
	if are := (prometheus.AlreadyRegisteredError{}); errors.As(err, &are) {
		if existing, ok := are.ExistingCollector.(C); ok {
			*c = existing
			return nil
		}
	}
	return err
}

// Scheme knows CRDs, and what is added.
func Scheme(add ...func(*runtime.Scheme) error) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	err := apiextensionsv1.AddToScheme(scheme)
	for _, to := range add {
		err = errors.Join(err, to(scheme))
	}
	return scheme, err
}

// MetadataOf names a CRD of which no more than the metadata is wanted: a whole one can be megabytes.
func MetadataOf(crd string) *metav1.PartialObjectMetadata {
	named := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: crd}}
	named.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return named
}

// mapper knows the kinds that the controllers ask for, and no others, so that it need not ask the API server for all resources that it
// has. With the short names and categories of a CRD, for each of its versions, a tenant decides how long that answer is.
func mapper() apimeta.RESTMapper {
	known := apimeta.NewDefaultRESTMapper(nil)
	known.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), apimeta.RESTScopeRoot)
	for _, kind := range []schema.GroupVersionKind{
		v1alpha1.GroupVersion.WithKind("VersionRemoval"),
		{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}, {Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}, // with --nudge
	} {
		known.Add(kind, apimeta.RESTScopeNamespace)
	}
	return known
}

// Cache is a cache of its own beside the manager's. It has digests of the schemas of CRDs.
func Cache(mgr manager.Manager, opts cache.Options, add ...func(*runtime.Scheme) error) (known cache.Cache, err error) {
	if opts.Scheme, err = Scheme(add...); err != nil {
		return nil, err
	}
	cfg, httpClient := withoutSchemas(mgr.GetConfig(), mgr.GetHTTPClient())
	opts.HTTPClient, opts.Mapper = httpClient, mapper()
	return cache.New(cfg, opts)
}

// OptedIn is a cache of the CRDs that carry the label and of nothing else, each as strip leaves it, which may be called twice for one.
// One at a time is in memory as it came: with its annotations, a CRD can take a megabyte.
func OptedIn(mgr manager.Manager, labelKey string, strip toolscache.TransformFunc) (cache.Cache, error) {
	return Cache(mgr, cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&apiextensionsv1.CustomResourceDefinition{}: {
				Label: labels.SelectorFromSet(labels.Set{labelKey: v1alpha1.MigrateLabelValue}), Transform: strip,
			},
		},
		NewInformer: func(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			return toolscache.NewSharedIndexInformer(InPages(lw, 1, strip), object, resync, indexers)
		},
	})
}

// InPages lists by pages of so many objects, and strips each page before it asks for the next. API servers before 1.34 cannot send
// objects one by one. The server is asked without a resourceVersion, since it takes no notice of a limit else.
func InPages(lw toolscache.ListerWatcher, size int64, strip toolscache.TransformFunc) *toolscache.ListWatch {
	inner := toolscache.ToListerWatcherWithContext(lw)
	list := func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		opts.ResourceVersion, opts.ResourceVersionMatch, opts.Limit, opts.Continue = "", "", size, ""
		var all []runtime.Object
		for {
			page, err := inner.ListWithContext(ctx, opts)
			if err != nil {
				return nil, err
			}
			if err := apimeta.EachListItemWithAlloc(page, func(o runtime.Object) error {
				_, err := strip(o)
				all = append(all, o)
				return err
			}); err != nil {
				return nil, err
			}
			end, err := apimeta.ListAccessor(page)
			if err != nil {
				return nil, err
			}
			if opts.Continue = end.GetContinue(); opts.Continue == "" {
				return page, apimeta.SetList(page, all)
			}
		}
	}
	return &toolscache.ListWatch{ListWithContextFunc: list, WatchFuncWithContext: inner.WatchWithContext}
}

// Client reads from a cache, and from the API server if known is nil. It writes to the API server.
func Client(mgr manager.Manager, known client.Reader, add ...func(*runtime.Scheme) error) (client.Client, error) {
	scheme, err := Scheme(add...)
	if err != nil {
		return nil, err
	}
	opts := client.Options{Scheme: scheme, HTTPClient: mgr.GetHTTPClient(), Mapper: mapper()}
	if known != nil {
		opts.Cache = &client.CacheOptions{Reader: known}
	}
	return NewClient(mgr.GetConfig(), opts)
}

// NewClient is a client that takes for an object only what has a UID. A proxy before the API server may answer by itself, with an object
// that has nothing in it: a CRD without a version, for example. In place of the schemas of CRDs, it reads
// digests, so no CRD that it has read may be written as a whole.
func NewClient(cfg *rest.Config, opts client.Options) (client.Client, error) {
	cfg, opts.HTTPClient = withoutSchemas(cfg, opts.HTTPClient)
	c, err := client.New(cfg, opts)
	return careful{c}, err
}

type careful struct{ client.Client }

// Get is a client.Reader's.
func (c careful) Get(ctx context.Context, key types.NamespacedName, object client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, object, opts...)
	if err == nil && object.GetUID() == "" {
		err = fmt.Errorf("the answer about %s has no UID, so it is not from the API server; look for a proxy before it", key)
	}
	return err
}

// Woken wakes a reconciler, for each piece of news by what it asks for.
func Woken[T any](news <-chan T, ask func(context.Context, T) []ctrl.Request) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		go func() {
			for {
				select {
				case one := <-news:
					for _, request := range ask(ctx, one) {
						queue.Add(request)
					}
				case <-ctx.Done():
					return
				}
			}
		}()
		return nil
	})
}

// limiter has what failed tried again, soon at first and every half minute for as long as that lasts. The library's own would wait up to a quarter of
// an hour once the API server is well again, and a gate would say meanwhile what was true before.
func limiter() workqueue.TypedRateLimiter[ctrl.Request] {
	const soonest, latest = 5 * time.Millisecond, 30 * time.Second
	return workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](soonest, latest)
}

// Controller has the manager run a reconciler, which the sources wake.
func Controller(mgr manager.Manager, name string, opts controller.Options, sources ...source.Source) error {
	skip := true // two managers may live in one process
	opts.SkipNameValidation = &skip
	opts.CacheSyncTimeout = 10 * time.Minute // a list of a thousand large CRDs, from a busy API server
	opts.RateLimiter = limiter()
	if opts.NewQueue == nil {
		ranked := false // the ranked queue can leave goroutines behind when it is shut down (controller-runtime v0.24.1, priorityqueue.go)
		opts.UsePriorityQueue = &ranked
	}
	c, err := controller.New(name, mgr, opts)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	return nil
}
