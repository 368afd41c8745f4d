package migration

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/follow"
)

// converts tells whether a CRD has a conversion webhook. Without one, a field has
// the same path at every version.
func converts(crd *apiextensionsv1.CustomResourceDefinition) bool {
	c := crd.Spec.Conversion
	return c != nil && c.Strategy == apiextensionsv1.WebhookConverter
}

// follower finds what owned fields are at another version of a CRD. It reads the
// CRD anew, since the cache holds neither schemas nor the webhook's CA bundle.
func (r *Reconciler) follower(ctx context.Context, name string) (rewrite.Follower, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := r.live.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
		return nil, fmt.Errorf("reading the conversion of %s: %w", name, err)
	}
	return follow.New(follow.NewTypes(crd), follow.NewWebhook(crd), func(ctx context.Context, key types.NamespacedName, apiVersion string) ([]byte, error) {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil || !apihelpers.HasServedCRDVersion(crd, gv.Version) {
			return nil, err
		}
		return r.objects.Whole(ctx, resourceOf(crd).WithVersion(gv.Version), key)
	}), nil
}
