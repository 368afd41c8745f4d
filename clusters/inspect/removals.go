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

// removals reads the VersionRemovals of the named CRDs, or all.
func (c *Cluster) removals(ctx context.Context, size int64, names []string) (found []v1alpha1.VersionRemoval, err error) {
	resource := c.dynamic.Resource(v1alpha1.GroupVersion.WithResource("versionremovals"))
	err = each(ctx, c, metav1.ListOptions{Limit: size}, func() { found = nil }, resource.List, func(object *unstructured.Unstructured) error {
		var removal v1alpha1.VersionRemoval
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &removal); err != nil {
			return err
		}
		if len(names) == 0 || slices.Contains(names, removal.Spec.CRDName) {
			found = append(found, removal)
		}
		return nil
	})
	return found, err
}

// RemovalsOf reads the VersionRemovals of a CRD. The note says why they are not known; it is empty if they are.
func (c *Cluster) RemovalsOf(ctx context.Context, crd string) (found []v1alpha1.VersionRemoval, note string) {
	known := c.gates(ctx, []string{crd})
	return known.Value, known.Not
}

// takeRemovals reads the VersionRemovals. Where Moult is not installed there are none.
func (t *taker) takeRemovals(ctx context.Context) {
	found, err := t.removals(ctx, t.opts.PageSize, t.Named)
	for i := range found {
		t.Removals = append(t.Removals, t.DescribeRemoval(&found[i]))
	}
	if err != nil && !apierrors.IsNotFound(err) {
		t.miss(snapshot.Removals, "", "VersionRemovals", allow(v1alpha1.GroupVersion.Group, "versionremovals", "list"), err)
	}
}
