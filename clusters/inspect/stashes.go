package inspect

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/policies/survivors"
)

// Types are those that the staying versions of some CRDs have.
func (c *Cluster) Types(ctx context.Context, targets []survivors.Target) (map[embeddedcopies.CRDVersion]*survivors.Types, error) {
	types := map[embeddedcopies.CRDVersion]*survivors.Types{}
	for _, t := range targets {
		for crd, err := range c.GetCRDs(ctx, []string{t.CRD}) {
			if err != nil {
				return nil, err
			}
			for _, v := range crd.Spec.Versions {
				if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil || !slices.Contains(t.Staying, v.Name) {
					continue
				}
				if types[embeddedcopies.CRDVersion{CRD: crd.Name, Version: v.Name}], err = survivors.TypesOf(v.Schema.OpenAPIV3Schema); err != nil {
					return nil, fmt.Errorf("the schema of %s at %s: %w", crd.Name, v.Name, err)
				}
			}
		}
	}
	return types, nil
}

// Mapper finds the resource of a kind.
func (c *Cluster) Mapper() meta.RESTMapper {
	return restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.discovery))
}

// EachObject is a embeddedcopies.Lister.
func (p Pages) EachObject(ctx context.Context, at schema.GroupVersionResource, take func(*unstructured.Unstructured)) (why string, err error) {
	if p.Size == 0 {
		p.Size = wholePerPage
	}
	r := listed{Resource: survivors.Resource{GroupResource: at.GroupResource()}, at: at}
	n := int64(0)
	err = p.pages(ctx, metav1.ListOptions{Limit: p.Size}, func() { n = 0 }, func(asked context.Context, opts metav1.ListOptions) (string, error) {
		page, err := p.objects.WholePage(asked, at, opts, wholePageBytes)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			take(&page.Items[i])
		}
		n += int64(len(page.Items))
		if rest := page.GetRemainingItemCount(); p.Tell != nil && (rest != nil || n > p.Size) {
			total := n
			if rest != nil {
				total += *rest
			}
			p.Tell(Progress{CRD: r.String(), Done: n, Total: total})
		}
		return page.GetContinue(), ctx.Err()
	})
	if err != nil {
		why = unread(err, r.String(), r.permission("list"))
	}
	return why, err
}
