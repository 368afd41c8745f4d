package converters

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
)

// Rehearsal asks the webhook of one CRD what it loses. It is a migration.Rehearser.
type Rehearsal struct{ engine *conversion.Engine }

// Rehearsal makes one. It asks nothing yet.
func (w Webhooks) Rehearsal(crd *apiextensionsv1.CustomResourceDefinition) (*Rehearsal, error) {
	engine, err := conversion.New(crd)
	if err != nil {
		return nil, err
	}
	webhook, err := w.For(crd)
	if err != nil {
		return nil, err
	}
	return &Rehearsal{engine.With(webhook)}, nil
}

// Lost are the fields of each object that are not the same at its own version once it has been stored at the storage version. An
// object that cannot be converted there and back is an error: a webhook that is not ready may do it the next time, and lose something.
func (r *Rehearsal) Lost(ctx context.Context, objects []map[string]any) (all [][]string, err error) {
	for _, o := range r.engine.RehearseAll(ctx, objects) {
		if o.Unknown != "" {
			return nil, errors.New(o.Unknown)
		}
		if len(o.Failed) > 0 {
			return nil, fmt.Errorf("%s cannot be converted to %s: %w", o.Object, o.Failed[0].To, o.Failed[0])
		}
		var lost []string
		for _, path := range slices.Concat(o.Lost, o.Changed) {
			lost = append(lost, crdschema.AnyItem(path))
		}
		slices.Sort(lost)
		all = append(all, slices.Compact(lost))
	}
	return all, nil
}
