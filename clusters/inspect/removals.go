package inspect

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/snapshot"
)

// takeRemovals reads the VersionRemovals. Where Moult is not installed there are none.
func (t *taker) takeRemovals(ctx context.Context) {
	resource := v1alpha1.GroupVersion.WithResource("versionremovals")
	opts := metav1.ListOptions{Limit: t.opts.PageSize}
	for renewals := 0; ; {
		var page *unstructured.UnstructuredList
		err := t.patiently(ctx, func(ctx context.Context) (err error) {
			page, err = t.dynamic.Resource(resource).List(ctx, opts)
			return err
		})
		switch {
		case apierrors.IsNotFound(err):
			return
		case apierrors.IsResourceExpired(err) && renewals < tries:
			t.Removals, opts.Continue = nil, ""
			renewals++
			continue
		case err == nil:
			err = t.keepRemovals(page)
		}
		if err != nil {
			t.miss(snapshot.Removals, "", "VersionRemovals", allow(resource.Group, resource.Resource, "list"), err)
			return
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return
		}
	}
}

func (t *taker) keepRemovals(page *unstructured.UnstructuredList) error {
	for i := range page.Items {
		removal := &v1alpha1.VersionRemoval{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(page.Items[i].Object, removal); err != nil {
			return err
		}
		if len(t.Named) == 0 || slices.Contains(t.Named, removal.Spec.CRDName) {
			t.Removals = append(t.Removals, t.DescribeRemoval(removal))
		}
	}
	return nil
}
