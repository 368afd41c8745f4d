package migration

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/fieldownership"
	"github.com/moult-dev/moult/policies/conversion"
)

// follower finds what owned fields are at a CRD's storage version. It is nil where
// they have the same path at the versions that entries are moved from. It reads the
// CRD anew, since the cache holds neither schemas nor the webhook's CA bundle.
func (r *Reconciler) follower(ctx context.Context, name, storageVersion string, from []string) (follower rewrite.Follower, err error) {
	err = r.whole(ctx, name, func(crd *apiextensionsv1.CustomResourceDefinition) error {
		var webhook func() conversion.Converter
		if crds.HasWebhook(crd) {
			webhook = func() conversion.Converter { return r.newCaller(crd) }
		} else if !regrouped(crd, storageVersion, from) {
			return nil
		}
		follower = fieldownership.New(fieldownership.NewTypes(crd), webhook, followed{r.objects, crd})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the conversion of %s: %w", name, err)
	}
	return follower, nil
}

// caller calls a CRD's conversion webhook and says which one. An error in what the CRD says of it is one of every call.
type caller struct {
	conversion.Converter

	crd string
	err error
}

func (r *Reconciler) newCaller(crd *apiextensionsv1.CustomResourceDefinition) caller {
	webhook, err := r.opts.NewConverter(crd)
	return caller{webhook, crd.Name, err}
}

// Convert is a conversion.Converter's.
func (c caller) Convert(ctx context.Context, objects []map[string]any, apiVersion string) (converted []map[string]any, err error) {
	if err = c.err; err == nil {
		converted, err = c.Converter.Convert(ctx, objects, apiVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("the conversion webhook of %s, asked by Moult: %w", c.crd, err)
	}
	return converted, nil
}

// followed are the objects of a CRD, as a fieldownership.Follower reads them.
type followed struct {
	*rewrite.Client
	crd *apiextensionsv1.CustomResourceDefinition
}

func (o followed) Whole(ctx context.Context, key types.NamespacedName, apiVersion string) ([]byte, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || !apihelpers.HasServedCRDVersion(o.crd, gv.Version) {
		return nil, err
	}
	return o.Client.Whole(ctx, resourceOf(o.crd).WithVersion(gv.Version), key)
}

// regrouped reports whether the storage version divides lists or maps otherwise than one of the versions, so that a field may be owned
// under another path there. A CRD that keeps all has fields that only one of the schemas divides.
func regrouped(crd *apiextensionsv1.CustomResourceDefinition, storageVersion string, from []string) bool {
	return slices.ContainsFunc(from, func(version string) bool {
		return crd.Spec.PreserveUnknownFields || !rewrite.SameGroups(schemaAt(crd, version), schemaAt(crd, storageVersion))
	})
}
