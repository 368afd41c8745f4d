package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// listPut is how kube-storage-version-migrator works: pages of whole objects, each written back as it is, one at a time.
// Unlike there, the requests are not limited to 40 a second.
var listPut = contender{
	name:       "list+put",
	roundTrips: 1,
	start:      func(ctx context.Context, e *entry) (*process, error) { return child(ctx, e, "list+put") },
	begin:      sayGo,
}

// listGetPut is what scripts do: list the names, and read and write each object.
var listGetPut = contender{
	name:       "list+get+put",
	roundTrips: 2,
	start:      func(ctx context.Context, e *entry) (*process, error) { return child(ctx, e, "list+get+put") },
	begin:      sayGo,
}

func runListPut(ctx context.Context, t task, await func() error) error {
	client, err := dynamic.NewForConfig(t.config)
	if err != nil {
		return err
	}
	if err := await(); err != nil {
		return err
	}
	objects := client.Resource(t.resource)
	for next := (metav1.ListOptions{Limit: pageSize}); ; {
		page, err := objects.List(ctx, next)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := put(ctx, objects, &page.Items[i]); err != nil {
				return err
			}
		}
		if next.Continue = page.GetContinue(); next.Continue == "" {
			return nil
		}
	}
}

// put writes an object back, as it is now if somebody else has written it.
func put(ctx context.Context, objects dynamic.NamespaceableResourceInterface, object *unstructured.Unstructured) error {
	for {
		o := objects.Namespace(object.GetNamespace())
		_, err := o.Update(ctx, object, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			return err
		}
		if object, err = o.Get(ctx, object.GetName(), metav1.GetOptions{}); err != nil {
			return err
		}
	}
}

func runListGetPut(ctx context.Context, t task, await func() error) error {
	client, err := dynamic.NewForConfig(t.config)
	if err != nil {
		return err
	}
	if err := await(); err != nil {
		return err
	}
	names, err := listNames(ctx, t.config, t.resource)
	if err != nil {
		return err
	}
	objects := client.Resource(t.resource)
	for _, name := range names {
		object, err := objects.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := put(ctx, objects, object); err != nil {
			return err
		}
	}
	return nil
}
