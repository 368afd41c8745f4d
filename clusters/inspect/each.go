package inspect

import (
	"context"
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// EachObject hands over the objects of a CRD as they are read at a version, a page at a time. A list that starts anew hands over
// the first ones again, after restart.
func (c *Cluster) EachObject(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, restart func(), take func(map[string]any)) error {
	list := c.dynamic.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}).List
	err := c.pages(ctx, metav1.ListOptions{Limit: wholePerPage}, restart, func(ctx context.Context, opts metav1.ListOptions) (string, error) {
		page, err := list(ctx, opts)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			take(page.Items[i].Object)
		}
		return page.GetContinue(), nil
	})
	if err != nil && ctx.Err() == nil {
		return errors.New(unread(err, "the objects of "+crd.Name, "list on "+crd.Spec.Names.Plural+" in "+crd.Spec.Group))
	}
	return err
}
