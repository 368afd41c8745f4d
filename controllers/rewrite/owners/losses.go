package owners

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
)

// losses is what is asked before objects of a resource are written. It is asked for anew for each page, since the CRD may change. If that
// is not known, none is written. The error is the context's.
func (r *Repair) losses(ctx context.Context, at schema.GroupVersionResource) (ask rewrite.AskLoss, done func(), end error) {
	if r.Losses == nil {
		return nil, func() {}, nil
	}
	ask, done, err := r.Losses.Of(ctx, at)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if r.Settles(err); err != nil {
		return func(context.Context, types.NamespacedName, bool) (string, error) { return err.Error(), nil }, func() {}, nil //nolint:nilerr // it is why none is written
	}
	return ask, done, nil
}

// losesFields leaves the references of an object that would lose fields by the write. The write is refused if the object has been written
// since. The error is the context's.
func (v *visit) losesFields(ctx context.Context, items []repairs.Item) (held bool, end error) {
	if v.loses == nil {
		return false, nil
	}
	why, err := v.loses(ctx, v.name(), true)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case rewrite.IsGone(err, v.at.Group, v.item.Name):
		return false, nil // as the write will show
	}
	for _, r := range items {
		if r.Why = why; err != nil {
			v.Refuse(err, rewrite.VerbOf(err), v.at, r)
		} else if why != "" {
			v.Leave(repairs.FieldsWouldBeLost, "", r)
		}
	}
	return err != nil || why != "", nil //nolint:nilerr // it is reported
}
