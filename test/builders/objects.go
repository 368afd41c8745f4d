package builders

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// createWorkers keep two cores of API server busy; more only wait in its queue.
const createWorkers = 16

// ObjectOption changes what CreateObjects creates.
type ObjectOption func(*objectOptions)

type objectOptions struct {
	prefix  string
	manager string
	payload int
	change  func(*unstructured.Unstructured)
}

// Prefix begins the names, <prefix>-00000 and so on, in place of "object".
func Prefix(prefix string) ObjectOption { return func(o *objectOptions) { o.prefix = prefix } }

// By is the field manager who creates the objects, in place of FieldManager.
func By(manager string) ObjectOption { return func(o *objectOptions) { o.manager = manager } }

// Payload fills spec.payload with this many bytes in place of 300; the stored object is about 650 bytes larger.
func Payload(bytes int) ObjectOption { return func(o *objectOptions) { o.payload = bytes } }

// Each changes every object before it is created, for finalizers, labels or fields of a test's own. It is called
// from several goroutines.
func Each(change func(*unstructured.Unstructured)) ObjectOption {
	return func(o *objectOptions) { o.change = change }
}

// CreateObjects creates n objects at the version of gvr with 16 workers, about 800 per second on two cores. The
// namespace must exist; it is empty for a cluster-scoped resource. A server that is busy or still setting up the
// resource is asked again; any other error ends it, with the object's name.
func CreateObjects(ctx context.Context, config *rest.Config, gvr schema.GroupVersionResource, namespace string, n int, opts ...ObjectOption) error {
	o := objectOptions{prefix: "object", manager: FieldManager, payload: 300, change: func(*unstructured.Unstructured) {}}
	for _, opt := range opts {
		opt(&o)
	}
	kind, err := kindOf(ctx, config, gvr)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}

	var workers errgroup.Group
	workers.SetLimit(createWorkers)
	starting, giveUp := context.WithCancel(ctx) // after an error none is begun, and those under way may finish
	defer giveUp()
	for i := 0; i < n && starting.Err() == nil; i++ {
		workers.Go(func() error {
			err := create(ctx, client.Resource(gvr).Namespace(namespace), o.object(gvr.GroupVersion().WithKind(kind), i), o.manager)
			if err != nil {
				giveUp()
			}
			return err
		})
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

func (o objectOptions) object(gvk schema.GroupVersionKind, i int) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"size":    int64(i),
			"color":   "green",
			"parts":   []any{"head", "tail"},
			"enabled": true,
			"payload": strings.Repeat("x", o.payload),
		},
	}}
	object.SetGroupVersionKind(gvk)
	object.SetName(fmt.Sprintf("%s-%05d", o.prefix, i))
	o.change(object)
	return object
}

// create asks again while the server says that it will be able to. Then an object that already exists is its own:
// a request may have been carried out although its answer was an error.
func create(ctx context.Context, client dynamic.ResourceInterface, object *unstructured.Unstructured, manager string) error {
	for attempt := 0; ; attempt++ {
		_, err := client.Create(ctx, object, metav1.CreateOptions{FieldManager: manager})
		switch {
		case err == nil, attempt > 0 && apierrors.IsAlreadyExists(err):
			return nil
		case !passes(err):
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("create %s %s: %w, last answer: %w", object.GetKind(), object.GetName(), ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// passes tells an error that waiting cures. The text is how the server says that a CRD's storage is being replaced.
func passes(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || strings.Contains(err.Error(), "storage is (re)initializing")
}

func kindOf(ctx context.Context, config *rest.Config, gvr schema.GroupVersionResource) (string, error) {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return "", err
	}
	name := gvr.GroupResource().String()
	crd, err := client.CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("the kind of %s: %w", name, err)
	}
	return crd.Spec.Names.Kind, nil
}
