package rewrite

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Guard keeps a walk from dropping fields that the storage version does not have. Somebody has looked at all objects before the
// walk; the guard looks at those that were written since.
type Guard struct {
	// LookedAt is a resourceVersion: objects that were written before it need no other look.
	LookedAt string
	// Lost are the fields that one object would lose. The error is the API server's.
	Lost func(context.Context, types.NamespacedName) ([]string, error)
}

// LookProgress is how far the look before a walk is. The zero value is a look that has not begun.
type LookProgress struct{ done, total atomic.Int64 }

// At says that done of total objects have been looked at, as far as is known.
func (l *LookProgress) At(done, total int64) { l.total.Store(total); l.done.Store(done) }

// Counts are the objects that have been looked at, and all.
func (l *LookProgress) Counts() (done, total int64) { return l.done.Load(), l.total.Load() }

// FieldLoss is a field that objects lose when they are stored at the storage version.
type FieldLoss struct {
	Field   string
	Version string // that has it
	Objects int64
	Object  types.NamespacedName // one of them
	// Allowed reports that the CRD allows it, or that it is in status, which is reported and holds nothing up.
	Allowed bool
}

// Message is a sentence about it.
func (l FieldLoss) Message(storageVersion string) string {
	return fmt.Sprintf("%s of %s is dropped from %d objects, for example %s, since %s does not have it",
		l.Field, l.Version, l.Objects, strings.TrimPrefix(l.Object.String(), "/"), storageVersion)
}

// guarded reports whether the next write may be sent. If not, the object has its outcome, or is to be looked at again.
func (v *visitor) guarded(ctx context.Context) (bool, error) {
	if v.Guard == nil || v.item.ResourceVersion == v.looked || !v.Guard.isNew(v.item.ResourceVersion) {
		return true, nil
	}
	lost, err := v.Guard.Lost(ctx, v.key())
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		return false, v.met(ctx, err)
	case len(lost) > 0:
		v.fail(reasonFieldsLost, fmt.Errorf("it was written while its version was looked at, and has %s, which %s does not have", strings.Join(lost, ", "), v.Ownership.StorageVersion))
		return false, nil
	}
	v.looked = v.item.ResourceVersion
	return true, nil
}

// isNew reports whether an object was written after the look.
func (g *Guard) isNew(rv string) bool {
	order, err := resourceversion.CompareResourceVersion(rv, g.LookedAt)
	return err != nil || order > 0
}
