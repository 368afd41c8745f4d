package inspect

import (
	"context"
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// EachPage hands over the objects of a CRD as they are read at a version, whole and a page at a time. So memory grows
// neither with their number nor with their size. A list that starts anew hands over the first ones again, after
// restart. Tell hears how far it is, if the list has more than a page.
func (c *Cluster) EachPage(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, restart func(), tell func(Progress), take func([]map[string]any)) error {
	resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}
	done := int64(0)
	err := c.pages(ctx, metav1.ListOptions{Limit: wholePerPage}, func() { done = 0; restart() }, func(ctx context.Context, opts metav1.ListOptions) (string, error) {
		page, err := c.objects.WholePage(ctx, resource, opts, wholePageBytes)
		if err != nil {
			return "", err
		}
		objects := make([]map[string]any, len(page.Items))
		for i := range page.Items {
			objects[i] = page.Items[i].Object
		}
		if done += int64(len(objects)); done > wholePerPage || page.GetContinue() != "" {
			total := done
			if rest := page.GetRemainingItemCount(); rest != nil {
				total += *rest
			}
			tell(Progress{CRD: crd.Name, Done: done, Total: total})
		}
		take(objects)
		return page.GetContinue(), nil
	})
	if err != nil && ctx.Err() == nil {
		return errors.New(unread(err, "the objects of "+crd.Name, "list on "+crd.Spec.Names.Plural+" in "+crd.Spec.Group))
	}
	return err
}
