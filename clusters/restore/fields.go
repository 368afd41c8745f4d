package restore

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/crdschema"
)

// putBack puts fields back that an object no longer has. All else of it stays as it is, and so does an object that was deleted.
func (w *write) putBack(ctx context.Context) error {
	w.result, w.notKept = Result{Object: w.name}, nil
	live, err := w.client.Get(ctx, w.wanted.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		w.result.Outcome = Absent
		return nil
	}
	if err != nil {
		return err
	}
	missing, astray := w.missing(live)
	left, unended := w.chosen.left, len(missing) == 0 && w.kept(live) // an earlier restore was interrupted
	switch {
	case len(astray) > 0:
		w.result.Outcome, w.result.Paths = Differs, slices.Concat(astray, left)
		w.result.Why = "what these fields lay in has changed, so they are left out; --overwrite writes all of the object"
		return nil
	case len(missing) == 0 && !unended && len(left) > 0:
		w.result.Outcome, w.result.Why, w.result.Paths = Differs, w.lacks(), left
		return nil
	case len(missing) == 0 && !unended:
		w.result.Outcome = Unchanged
		return nil
	case live.GetDeletionTimestamp() != nil:
		w.result.Outcome, w.result.Why = Refused, "it is being deleted"
		return nil
	}
	if drops, why, err := w.drops(ctx, live); err != nil || why != "" {
		w.result.Outcome, w.result.Why, w.result.Paths = Differs, why, drops
		return err
	}
	if unended {
		w.result.Outcome, w.result.Why, w.result.Paths, w.notKept = PutBack, w.lacks(), left, left
		if w.DryRun {
			return nil
		}
		return w.handBack(ctx, live)
	}
	return w.set(ctx, live, missing)
}

// set writes fields that an object does not have.
func (w *write) set(ctx context.Context, live *unstructured.Unstructured, missing []crdschema.Path) error {
	object := live.DeepCopy()
	for _, path := range missing {
		crdschema.Put(object.Object, path, runtime.DeepCopyJSONValue(crdschema.At(w.wanted.Object, path)))
		w.result.Paths = append(w.result.Paths, path.String())
	}
	made, err := w.client.Update(ctx, object, metav1.UpdateOptions{FieldManager: Manager, DryRun: w.dry()})
	if err != nil {
		return err
	}
	w.result.Outcome = PutBack
	w.notKept = slices.Clone(w.chosen.left)
	for _, path := range missing {
		if crdschema.At(made.Object, path) == nil {
			w.notKept = append(w.notKept, path.String())
		}
	}
	if len(w.notKept) > 0 {
		w.result.Why, w.result.Paths = "the cluster does not keep all of it", w.notKept
	}
	if w.DryRun {
		return nil
	}
	return w.handBack(ctx, made)
}

// missing are the fields that are asked for and that the object in the cluster does not have. Those whose object or list item is
// not there any more, or is another one, are astray.
func (w *write) missing(live *unstructured.Unstructured) (missing []crdschema.Path, astray []string) {
	change := crdschema.ChangeOf(w.wanted.Object, live.Object)
	for _, path := range change.Lost {
		name := crdschema.AnyItem(path.String())
		switch {
		case path[0] == "metadata" || path[0] == "status":
		case !crdschema.Allows(w.Fields, name):
			if slices.ContainsFunc(w.Fields, func(field string) bool { return within(field, name) }) {
				astray = append(astray, path.String())
			}
		case w.sameItems(live, path, change):
			missing = append(missing, path)
		default:
			astray = append(astray, path.String())
		}
	}
	return missing, astray
}

// within reports whether a pattern of a field lies in what another one names.
func within(field, around string) bool {
	return strings.HasPrefix(field, around+".") || strings.HasPrefix(field, around+"[")
}

// sameItems reports whether the items of lists on a path are those of the backup. Nothing in them has another value. A list without
// keys has them at the same places only if it is as long, and no other of its items has another value or more than before.
func (w *write) sameItems(live *unstructured.Unstructured, path crdschema.Path, change crdschema.Change) bool {
	v := w.target.now[w.chosen.version]
	for i, step := range path {
		if _, is := step.(int); !is {
			continue
		}
		around := path[:i]
		if list := crdschema.SchemaAt(v.Schema, around); list != nil && list.XListType != nil && *list.XListType == "map" {
			around = path[:i+1]
		}
		in := func(other crdschema.Path) bool {
			return len(other) > len(around) && slices.Equal(other[:len(around)], around)
		}
		added := func(other crdschema.Path) bool { return in(other) && !v.IsDefault(live.Object, other) }
		item := func(other crdschema.Path) bool {
			_, isItem := other[len(other)-1].(int)
			return in(other) && isItem && len(other) == len(around)+1
		}
		if slices.ContainsFunc(change.Changed, in) || len(around) == i && slices.ContainsFunc(change.Added, added) || slices.ContainsFunc(change.Lost, item) {
			return false
		}
	}
	return true
}

// lacks says why fields of the backup are left out; it is empty if none are.
func (w *write) lacks() string {
	if len(w.chosen.left) == 0 {
		return ""
	}
	return w.chosen.version + " does not have these fields, so the cluster would not keep them"
}

// kept reports whether a restore still manages fields that others managed in the backup. Then it has not ended with the object.
func (w *write) kept(live *unstructured.Unstructured) bool {
	entries := live.GetManagedFields()
	at := managed(entries)
	if at < 0 || crds.HasWebhook(w.target.is) || live.GetDeletionTimestamp() != nil {
		return false
	}
	ours := fieldsOf(entries[at])
	return slices.ContainsFunc(w.managers, func(was metav1.ManagedFieldsEntry) bool {
		return was.Manager != Manager && was.Subresource == "" && !fieldsOf(was).Intersection(ours).Leaves().Empty()
	})
}

// managed is where the entry of a restore is; it is negative if there is none.
func managed(entries []metav1.ManagedFieldsEntry) int {
	return slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == Manager && e.Subresource == "" })
}

// handBack gives the fields to those who managed them in the backup, so that tools prune them as before.
func (w *write) handBack(ctx context.Context, made *unstructured.Unstructured) error {
	entries := made.GetManagedFields()
	at := managed(entries)
	if at < 0 || len(w.managers) == 0 || crds.HasWebhook(w.target.is) {
		return nil
	}
	ours, taken := fieldsOf(entries[at]), fieldpath.NewSet()
	for _, was := range w.managers {
		theirs := fieldsOf(was).Intersection(ours)
		if was.Subresource != "" || theirs.Empty() {
			continue
		}
		taken = taken.Union(theirs)
		entries = give(entries, was, theirs)
	}
	if left := ours.Difference(taken); left.Empty() {
		entries = slices.Delete(entries, at, at+1)
	} else {
		entries[at] = with(entries[at], left)
	}
	return w.giveTo(ctx, made, entries)
}

// giveTo sets who owns which fields, if the object is still as it was made.
func (w *write) giveTo(ctx context.Context, made *unstructured.Unstructured, managers []metav1.ManagedFieldsEntry) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": made.GetUID(), "resourceVersion": made.GetResourceVersion(), "managedFields": managers,
	}})
	if err != nil {
		return err
	}
	_, err = w.client.Patch(ctx, made.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Manager})
	return err
}

// give adds fields to the entry of a manager, or adds the entry. A manager that applies has one entry, whichever version it is at:
// without a webhook its fields are called the same at both.
func give(entries []metav1.ManagedFieldsEntry, to metav1.ManagedFieldsEntry, fields *fieldpath.Set) []metav1.ManagedFieldsEntry {
	for i, e := range entries {
		applies := e.Operation == metav1.ManagedFieldsOperationApply
		if e.Manager == to.Manager && e.Operation == to.Operation && e.Subresource == "" && (applies || e.APIVersion == to.APIVersion) {
			entries[i] = with(e, fieldsOf(e).Union(fields))
			entries[i].APIVersion = to.APIVersion
			return entries
		}
	}
	return append(entries, with(to, fields))
}

// fieldsOf is empty for an entry that cannot be read.
func fieldsOf(e metav1.ManagedFieldsEntry) *fieldpath.Set {
	fields := fieldpath.NewSet()
	if e.FieldsV1 == nil || fields.FromJSON(e.FieldsV1.GetRawReader()) != nil {
		return fieldpath.NewSet()
	}
	return fields
}

func with(e metav1.ManagedFieldsEntry, fields *fieldpath.Set) metav1.ManagedFieldsEntry {
	raw, _ := fields.ToJSON() // a set that was read can be written
	e.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return e
}
