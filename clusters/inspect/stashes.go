package inspect

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
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
