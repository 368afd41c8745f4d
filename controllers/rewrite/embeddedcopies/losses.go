package embeddedcopies

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
)

// losesFields leaves the copy if an object would lose fields by being written. The error is the context's.
func (v *visit) losesFields(ctx context.Context, at schema.GroupVersionResource, key types.NamespacedName, what string, updates bool) (held bool, end error) {
	why, err := rewrite.LossOf(ctx, v.Losses, at, key, updates)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case rewrite.IsGone(err, at.Group, key.Name):
		return false, nil // as the write will show
	case v.Settles(err):
		v.leave(repairs.FieldsWouldBeLost, what+" may lose fields: "+err.Error())
	case err != nil:
		v.Refuse(err, rewrite.VerbOf(err), at, v.reported)
	case why != "":
		v.leave(repairs.FieldsWouldBeLost, what+" would lose fields: "+why)
	}
	return err != nil || why != "", nil //nolint:nilerr // it is reported
}
