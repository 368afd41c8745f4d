package owners

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/words"
)

// visit moves the references of one object.
type visit struct {
	*Repair

	at      schema.GroupVersionResource
	room    *rewrite.Visit
	objects rewrite.Objects
	listed  *metav1.PartialObjectMetadata
	item    *metav1.PartialObjectMetadata // as it was read last
	races   int
	loses   rewrite.AskLoss // nil: no object of the resource would lose a field
	// unsure is what a write was to move that was never answered, and may have been carried out.
	unsure []repairs.Item
}

// mostMoved is how many references one write moves: the API server takes 10,000 operations in a JSON Patch.
const mostMoved = 1000

// run ends when every reference of the object is moved or left. The error is the context's.
func (v *visit) run(ctx context.Context) error {
	for again := true; again; {
		found, items, err := v.movable(ctx)
		if err != nil {
			return err
		}
		if err := v.settle(ctx, items); err != nil {
			return err
		}
		again = false
		for from := 0; from < len(found) && !again; from += mostMoved {
			to := min(from+mostMoved, len(found))
			if again, err = v.move(ctx, found[from:to], items[from:to]); err != nil {
				return err
			}
		}
	}
	return nil
}

// movable are the references that are to be moved now. Those that are to be left are.
func (v *visit) movable(ctx context.Context) (found []match, items []repairs.Item, err error) {
	all := matches(v.Targets, v.item)
	names, err := v.writers(ctx, ownersOf(all))
	if err != nil {
		return nil, nil, err
	}
	for _, m := range all {
		r := v.reference(m)
		r.Writers = names[m.UID]
		if v.Times(v.key(r)) >= repairs.MaxMoves {
			r.Why = comesBack(r.Writers)
			v.Leave(repairs.ComesBack, "", r)
			continue
		}
		if !v.Orphans {
			o, err := v.owner(ctx, m)
			if err != nil {
				return nil, nil, err
			}
			if r.Why = o.why; o.reason != "" {
				v.Leave(o.reason, needs(o.reason, m), r)
				continue
			}
			r.OwnerTerminating = o.terminating
		}
		found, items = append(found, m), append(items, r)
	}
	return found, items, nil
}

func comesBack(writers []string) string {
	if len(writers) == 0 {
		return "somebody writes it back, and managedFields do not say who"
	}
	return strings.Join(writers, " or ") + " writes it back"
}

func (v *visit) reference(m match) repairs.Item {
	gv, _ := schema.ParseGroupVersion(m.APIVersion) // it was parsed to be found
	return repairs.Item{
		Object: repairs.ObjectOf(v.at, v.item), Path: fmt.Sprintf("metadata.ownerReferences[%d]", m.index), CRD: m.target.CRD, Owner: m.Kind + " " + m.Name,
		UID: m.UID, From: gv.Version, To: m.target.Storage,
	}
}

// writers are who owns the reference to each owner now.
func (v *visit) writers(ctx context.Context, of []types.UID) (map[types.UID][]string, error) {
	done, err := v.Room.ForFields(ctx, v.item.ManagedFields)
	if err != nil {
		return nil, err
	}
	defer done()
	return writers(v.item.ManagedFields, of), nil
}

func (v *visit) key(r repairs.Item) entry { return entry{v.item.UID, r.UID} }

// needs is the permission that would tell whether an owner exists.
func needs(reason repairs.Reason, m match) string {
	if reason == repairs.OwnerUnknown {
		return repairs.Permission("get", m.target.resource())
	}
	return ""
}

// settle counts what a write without an answer has moved after all: what is not to be moved any more. Whether it was that write
// or another client is not known, so nothing is given back.
func (v *visit) settle(ctx context.Context, still []repairs.Item) error {
	if v.unsure == nil {
		return nil
	}
	names, err := v.writers(ctx, words.Of(v.unsure, func(r repairs.Item) types.UID { return r.UID }))
	if err != nil {
		return err
	}
	for _, r := range v.unsure {
		if slices.ContainsFunc(still, func(s repairs.Item) bool { return s.UID == r.UID }) {
			continue
		}
		v.hasMoved(r)
		if !slices.Equal(r.Writers, names[r.UID]) {
			v.taken(r.CRD, "the write was not answered, so it is not known who has it now")
		}
	}
	v.unsure = nil
	return nil
}

// hasMoved counts a reference that was moved. One that was moved before has come back.
func (v *visit) hasMoved(r repairs.Item) {
	times := v.Did(v.key(r))
	if times == 1 {
		v.Moved(r)
	}
	if (times > 1 || v.Memory.comesBack(v.key(r))) && v.Did(returned(v.key(r))) == 1 {
		v.Count(r.CRD, func(all *repairs.Report) {
			all.Returned++
			all.ReturnedBy = append(all.ReturnedBy, r.Writers...)
		})
	}
}

// taken counts one reference to an object of a CRD.
func (v *visit) taken(crd, why string) {
	v.Count(crd, func(all *repairs.Report) {
		all.Taken++
		all.TakenWhy = words.Clip(why, words.MostQuoted)
	})
}

// move writes once, and reports whether to look at the object again.
func (v *visit) move(ctx context.Context, found []match, items []repairs.Item) (again bool, err error) {
	if held, err := v.losesFields(ctx, items); held || err != nil {
		return false, err
	}
	body, err := move(v.item, found)
	if err != nil {
		return false, err
	}
	after, err := v.patch(ctx, body, func() { v.unsure = items })
	switch {
	case ctx.Err() != nil && err != nil:
		return false, ctx.Err()
	case err == nil:
		v.unsure = nil
		for _, r := range items {
			v.hasMoved(r)
		}
		if !v.DryRun {
			v.restoreOwnership(ctx, after, found)
		}
		return false, nil
	}
	return v.refused(ctx, err, items)
}

// refused reads the object again, which reports whether it has gone, or was written by somebody else meanwhile.
func (v *visit) refused(ctx context.Context, err error, items []repairs.Item) (again bool, end error) {
	if rewrite.IsForbidden(err) || rewrite.IsDenied(err) {
		v.leave(err, items)
		return false, nil
	}
	fresh, getErr := v.read(ctx)
	elsewhere := v.elsewhere(fresh, getErr)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case elsewhere != nil:
		v.leave(elsewhere, items)
	case rewrite.IsGone(getErr, v.at.Group, v.item.Name):
		return false, nil
	case getErr != nil:
		v.leave(errors.Join(err, getErr), items)
	case fresh.UID != v.item.UID: // made again since, and for the next look
	case fresh.ResourceVersion != v.item.ResourceVersion && v.races < repairs.MaxRaces:
		v.races++
		v.item = fresh
		return true, nil
	default:
		v.leave(err, items)
	}
	return false, nil
}

// elsewhere is as in Work.Elsewhere, of an object of which another one, or none, was read by its name.
func (v *visit) elsewhere(fresh *metav1.PartialObjectMetadata, err error) error {
	met := err == nil && fresh.UID == v.item.UID && fresh.ResourceVersion == v.item.ResourceVersion
	if met || err != nil && !rewrite.IsGone(err, v.at.Group, v.item.Name) || v.item != v.listed {
		return nil
	}
	return v.Elsewhere(repairs.Listed{At: v.at, Key: v.name(), ResourceVersion: v.listed.ResourceVersion})
}

// leave keeps why the references of a write were not moved.
func (v *visit) leave(err error, items []repairs.Item) {
	for _, r := range items {
		v.Refuse(err, "patch", v.at, r)
	}
}

func (v *visit) read(ctx context.Context) (fresh *metav1.PartialObjectMetadata, err error) {
	err = v.Retry().Do(ctx, func() (err error) {
		fresh, err = v.objects.Get(ctx, v.name())
		return err
	})
	return fresh, err
}

func (v *visit) name() types.NamespacedName {
	return types.NamespacedName{Namespace: v.item.Namespace, Name: v.item.Name}
}

// patch sends a write when its turn has come. One that may have been carried out without an answer is unsure.
func (v *visit) patch(ctx context.Context, body []byte, unsure func()) (after *metav1.PartialObjectMetadata, err error) {
	err = v.Retry().Write(ctx, v.Lane, func() error {
		after, err = v.objects.Patch(ctx, v.name(), types.JSONPatchType, body)
		if ctx.Err() == nil && err != nil && rewrite.MayPass(err) && !apierrors.IsTooManyRequests(err) {
			unsure()
		}
		return err
	})
	return after, err
}
