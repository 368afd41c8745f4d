package converters

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/conversion"
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

// index is that of a list's item.
var index = regexp.MustCompile(`\[\d+\]`)

// Lost are the fields of each object that are not the same at its own version once it has been stored at the storage version. An
// object that cannot be converted loses nothing, since the API server cannot write it.
func (r *Rehearsal) Lost(ctx context.Context, objects []map[string]any) (all [][]string, err error) {
	for _, o := range r.engine.RehearseAll(ctx, objects) {
		if o.Unknown != "" {
			return nil, errors.New(o.Unknown)
		}
		for _, f := range o.Failed {
			if f.Fault == conversion.FaultLate || f.Fault == conversion.FaultAnswer {
				return nil, fmt.Errorf("%s: %w", o.Object, f)
			}
		}
		var lost []string
		for _, path := range slices.Concat(o.Lost, o.Changed) {
			lost = append(lost, index.ReplaceAllString(path, "[*]"))
		}
		slices.Sort(lost)
		all = append(all, slices.Compact(lost))
	}
	return all, nil
}
