package inspect

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/moult-dev/moult/policies/survivors"
)

// Mapper finds the resource of a kind.
func (c *Cluster) Mapper() meta.RESTMapper {
	return restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.discovery))
}

// EachObject is a stashes.Lister.
func (p Pages) EachObject(ctx context.Context, at schema.GroupVersionResource, take func(*unstructured.Unstructured)) (why string, err error) {
	if p.Size == 0 {
		p.Size = wholePerPage
	}
	r := listed{Resource: survivors.Resource{GroupResource: at.GroupResource()}, at: at}
	n, list := int64(0), p.dynamic.Resource(at).List
	err = p.pages(ctx, metav1.ListOptions{Limit: p.Size}, func() { n = 0 }, func(asked context.Context, opts metav1.ListOptions) (string, error) {
		page, err := list(asked, opts)
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
