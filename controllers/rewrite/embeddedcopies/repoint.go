package embeddedcopies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/survivors"
)

// repointAll makes everything that names the old object name the successor. done is false if something was left.
func (v *visit) repointAll(ctx context.Context, successor string) (done bool, end error) {
	done = true
	var fixed []referrer
	for _, r := range v.names[v.Key] {
		if r.field.Fixed != "" {
			fixed = append(fixed, r)
			continue
		}
		ok, err := v.repoint(ctx, r, successor)
		if err != nil {
			return false, err
		}
		done = done && ok
	}
	if len(fixed) > 0 {
		v.leave(StillNamed, fmt.Sprintf("%s names it: %s", fixed[0], fixed[0].field.Fixed))
		return false, nil
	}
	return done, nil
}

// repoint writes an object until it does not name the old one any more, and reads that back.
func (v *visit) repoint(ctx context.Context, r referrer, successor string) (done bool, end error) {
	item, err := v.read(ctx, r.At, r.Key)
	if unmet := rewrite.IsGone(err, r.At.Group, r.Key.Name) || err == nil && len(r.named(item, v.Key.Name)) == 0; unmet {
		if elsewhere := v.Elsewhere(r.Listed); elsewhere != nil {
			v.leave(StillNamed, fmt.Sprintf("%s names it: %v", r, elsewhere))
			return false, nil
		}
		return true, nil
	}
	by := naming{r, v.Key}
	by.by.ResourceVersion = "" // it is written again and again
	for races := 0; ; races++ {
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case rewrite.IsGone(err, r.At.Group, r.Key.Name):
			return true, nil
		case err != nil:
			v.Refuse(err, "get", r.At, v.reported)
			return false, nil
		}
		named := r.named(item, v.Key.Name)
		if len(named) == 0 {
			return true, nil
		}
		if writer := declares(item, named, v.Key.Name); writer != "" {
			v.leave(Declared, fmt.Sprintf("%s names it at %s, which %s applies", r, named[0].Path, writer))
			return false, nil
		}
		if v.Times(by) >= repairs.MaxMoves {
			v.leave(repairs.ComesBack, fmt.Sprintf("%s names it again at %s", r, named[0].Path))
			return false, nil
		}
		if held, err := v.losesFields(ctx, r.At, r.Key, r.String()+", which names it,", true); held || err != nil {
			return false, err
		}
		refusal := v.patch(ctx, r, item, named, successor)
		if refusal == nil && v.DryRun {
			return true, nil
		}
		before := item.GetResourceVersion()
		item, err = v.read(ctx, r.At, r.Key)
		if ctx.Err() != nil || err != nil {
			continue
		}
		if left := r.named(item, v.Key.Name); len(left) == 0 {
			if v.Did(by) == 1 {
				v.Count(v.reported.CRD, func(all *repairs.Report) { all.Repointed++ })
			}
		} else if refusal != nil && (item.GetResourceVersion() == before || races == repairs.MaxRaces) {
			v.Refuse(fmt.Errorf("%s: %w", r, refusal), "patch", r.At, v.reported)
			return false, nil
		} else if refusal == nil && races == repairs.MaxRaces {
			v.leave(repairs.Refused, fmt.Sprintf("%s was written, and names it still", r))
			return false, nil
		}
	}
}

// named are the fields that name an object. Those of the status come after the others.
func (r referrer) named(item *unstructured.Unstructured, name string) []survivors.Named {
	return slices.DeleteFunc(r.field.Read(item.Object), func(n survivors.Named) bool { return n.Name != name })
}

// patch changes the fields, each if it is as it was read. Those of the status are written where the status is, and only when no
// other is left, except in a dry run.
func (v *visit) patch(ctx context.Context, r referrer, item *unstructured.Unstructured, named []survivors.Named, successor string) error {
	inStatus := func(n survivors.Named) bool { return strings.HasPrefix(n.Pointer, "/status/") }
	if rest := slices.DeleteFunc(slices.Clone(named), inStatus); len(rest) > 0 {
		if err := v.replace(ctx, r, item, rest, successor); err != nil || !v.DryRun {
			return err
		}
	}
	status := slices.DeleteFunc(slices.Clone(named), func(n survivors.Named) bool { return !inStatus(n) })
	if len(status) == 0 {
		return nil
	}
	err := v.replace(ctx, r, item, status, successor, "status")
	if apierrors.IsNotFound(err) && !rewrite.IsGone(err, r.At.Group, r.Key.Name) {
		return v.replace(ctx, r, item, status, successor) // there is no such subresource
	}
	return err
}

func (v *visit) replace(ctx context.Context, r referrer, item *unstructured.Unstructured, named []survivors.Named, successor string, subresources ...string) error {
	ops := rewrite.SameState(item)
	for _, n := range named {
		ops = append(ops, rewrite.Operation{Op: "test", Path: n.Pointer, Value: n.Name}, rewrite.Operation{Op: "replace", Path: n.Pointer, Value: successor})
	}
	body, err := rewrite.Body(ops)
	if err != nil {
		return err
	}
	return v.Retry().Write(ctx, v.Lane, func() error {
		opts := metav1.PatchOptions{DryRun: v.DryRunOption(), FieldManager: manager}
		_, err := v.objects(r.At, r.Key.Namespace).Patch(ctx, r.Key.Name, types.JSONPatchType, body, opts, subresources...)
		return err
	})
}

// declares is who applies one of the fields, and so would write the old name again: it is in Git, or wherever that comes from.
func declares(item *unstructured.Unstructured, named []survivors.Named, name string) string {
	if strings.Contains(item.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"], strconv.Quote(name)) {
		return "kubectl"
	}
	for _, entry := range item.GetManagedFields() {
		fields, err := rewrite.DecodeFields(entry)
		if err != nil || entry.Operation != metav1.ManagedFieldsOperationApply {
			continue
		}
		for _, n := range named {
			var parts []any
			for part := range strings.SplitSeq(strings.TrimPrefix(n.Pointer, "/"), "/") {
				parts = append(parts, part)
			}
			if at, err := fieldpath.MakePath(parts...); err == nil && applies(fields, at) {
				return entry.Manager
			}
		}
	}
	return ""
}

// applies reports whether a set has a field, or an atomic value that it is in, which is set as one.
func applies(fields *fieldpath.Set, at fieldpath.Path) bool {
	if fields.Has(at) {
		return true
	}
	below := fields
	for i, part := range at {
		if below = below.WithPrefix(part); below.Empty() && fields.Has(at[:i+1]) {
			return true
		}
	}
	return false
}

// restoreOwnership makes objects again that were removed and are named all the same: somebody named them while they went.
func (m *Migration) restoreOwnership(ctx context.Context, s *survey) error {
	for key, referrers := range s.names {
		where, was := m.removed.get(key)
		if !was || len(s.exists[key]) > 0 || m.DryRun {
			continue
		}
		made, err := m.makeAgain(ctx, key, where)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !apierrors.IsAlreadyExists(err) && m.Journal == nil: // a faulty annotation must not stop all else
			o := repairs.Object{Resource: string(s.places[0].Resources[0]), Namespace: key.Namespace, Name: key.Name}
			m.leaveAt(s, o, repairs.Refused, fmt.Sprintf("it was removed, %s names it, and it cannot be made again: %v", referrers[0], err))
			continue
		case err != nil && !apierrors.IsAlreadyExists(err):
			return errors.Join(fmt.Errorf("%s was removed, and %s names it; make it again from where it was saved", key, referrers[0]), err)
		}
		m.Did(remade(key))
		m.Count("", func(all *repairs.Report) { all.Returned++ })
		if err == nil {
			m.Tell(Replacement{Now: made, NamedBy: referrers[0].String()})
		}
	}
	return nil
}

// makeAgain makes one of them.
func (m *Migration) makeAgain(ctx context.Context, key types.NamespacedName, where kept) (made *unstructured.Unstructured, err error) {
	object, err := m.removedObject(ctx, key, where)
	if err != nil {
		return nil, err
	}
	at, err := m.Mapper.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
	if err != nil {
		return nil, err
	}
	err = m.Retry().Write(ctx, m.Lane, func() error {
		made, err = m.objects(at.Resource, key.Namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: manager})
		return err
	})
	return made, err
}
