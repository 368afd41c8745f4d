package status

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
)

// watched is what status --watch knows of the CRDs it looks at.
type watched struct {
	labelKey string
	byName   bool // the CRDs were named; otherwise they are all that are opted in
	display  progress.Display
	end      context.CancelCauseFunc

	mu   sync.Mutex
	rows map[string]row
}

// errAllMigrated ends a watch.
var errAllMigrated = errors.New("all migrated")

// follow draws until everything is migrated. It watches, because asking again and again would fetch every schema each
// time.
func (s *command) follow(ctx context.Context, crds apiextensions.CustomResourceDefinitionInterface, names []string) error {
	rows, err := s.rows(ctx, crds, names)
	if err != nil {
		return err
	}
	if len(rows) == 0 || allMigrated(rows) {
		return errors.Join(s.print(rows, true), s.verdict(rows))
	}
	watching, end := context.WithCancelCause(ctx)
	defer end(nil)
	w := &watched{labelKey: s.LabelKey, byName: len(names) > 0, end: end, rows: map[string]row{}, display: progress.New(s.Out, rowNames(rows))}
	for _, r := range rows {
		w.rows[r.Name] = r
		w.display.Show(r.Name, r.state())
	}
	w.watch(watching, crds, s.queries(names))
	w.display.Close()
	switch cause := context.Cause(watching); {
	case ctx.Err() != nil:
		return errors.New("interrupted before all were migrated; the migration itself goes on in the cluster")
	case errors.Is(cause, errAllMigrated):
		return nil
	default:
		return cause
	}
}

// queries are the watches that see what is asked for: one by label, or one per name.
func (s *command) queries(names []string) []metav1.ListOptions {
	if len(names) == 0 {
		return []metav1.ListOptions{{LabelSelector: s.Selector()}}
	}
	var queries []metav1.ListOptions
	for _, name := range names {
		queries = append(queries, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	}
	return queries
}

// watch runs all watches until one of them has ended it.
func (w *watched) watch(ctx context.Context, crds apiextensions.CustomResourceDefinitionInterface, queries []metav1.ListOptions) {
	var running sync.WaitGroup
	for _, query := range queries {
		informer := cache.NewSharedIndexInformer(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				opts.LabelSelector, opts.FieldSelector = query.LabelSelector, query.FieldSelector
				return crds.List(ctx, opts)
			},
			WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				opts.LabelSelector, opts.FieldSelector = query.LabelSelector, query.FieldSelector
				return crds.Watch(ctx, opts)
			},
		}, &apiextensionsv1.CustomResourceDefinition{}, 0, nil)
		_ = informer.SetTransform(withoutSchemas)
		_ = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
			if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
				w.end(cli.ReadError(err))
			} // anything else passes, and the informer tries again
		})
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    w.seen,
			UpdateFunc: func(_, after any) { w.seen(after) },
			DeleteFunc: w.lost,
		})
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	running.Wait()
}

func (w *watched) seen(object any) {
	crd, ok := object.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return
	}
	w.update(rowOf(crd, w.labelKey))
}

// lost is a CRD that was deleted or, where all opted-in CRDs are watched, is no longer one of them. Only then the others
// alone can be all that was asked for.
func (w *watched) lost(object any) {
	name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.display.Show(name, progress.State{Phase: "gone"})
	w.rows[name] = row{Name: name}
	if !w.byName {
		delete(w.rows, name)
	}
	w.endIfAllMigrated()
}

func (w *watched) update(r row) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows[r.Name] = r
	w.display.Show(r.Name, r.state())
	w.endIfAllMigrated()
}

func (w *watched) endIfAllMigrated() {
	if allMigrated(slices.Collect(maps.Values(w.rows))) {
		w.end(errAllMigrated)
	}
}

// state is the row on a display, with the condition's message where a person is needed.
func (r row) state() progress.State {
	s := progress.State{Phase: r.condition(), Counts: r.Progress, Done: r.Migrated}
	switch r.Reason {
	case "", v1alpha1.ReasonMigrated, v1alpha1.ReasonMigrating, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying:
	default:
		s.Note = r.Message
	}
	return s
}

func rowNames(rows []row) []string {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return names
}

// withoutSchemas drops nearly all of a CRD's bytes before it is kept.
func withoutSchemas(object any) (any, error) {
	if crd, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok {
		crd.ManagedFields = nil
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Schema = nil
		}
	}
	return object, nil
}
