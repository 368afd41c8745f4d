package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

// restore is what happens to one object. It waits if an owner is not there yet.
func (r *restorer) restore(ctx context.Context, t *target, from archive.Object) (waits bool, err error) {
	w, err := r.writeOf(ctx, t, from)
	switch {
	case errors.As(err, new(refusal)):
		r.tally.add(from.CRD, Result{Object: nameOf(from), Outcome: Refused, Why: words.Line(err.Error())}, false, false)
		return false, nil
	case err != nil:
		return false, err
	}
	if w.wanted.GetDeletionTimestamp() != nil {
		r.tally.add(from.CRD, Result{Object: nameOf(from), Outcome: Deleting, Why: "it was being deleted when the backup was made"}, false, false)
		return false, nil
	}
	if len(r.Fields) > 0 {
		r.tally.found(w.wanted.Object)
		if err := retry.OnError(retry.DefaultRetry, raced, func() error { return w.putBack(ctx) }); err != nil {
			return false, r.refuse(w, err)
		}
		r.tally.add(from.CRD, w.result, len(w.notKept) > 0, false)
		return false, nil
	}
	refs, missing, err := r.owners.here(ctx, w.wanted)
	switch {
	case err != nil:
		return false, r.refuse(w, err)
	case len(missing) > 0 && r.waits(missing):
		r.owners.wait(w.wanted)
		return true, nil
	case len(missing) > 0 && !r.DropOwners:
		r.tally.add(from.CRD, Result{Object: w.name, Outcome: Refused, Why: fmt.Sprintf("its %s neither in the cluster nor restored: %s; the garbage collector would delete the object; --drop-owners restores it without what is missing",
			words.Agree(len(missing), "owner is", "owners are"), words.Few(words.Of(missing, owner.String), 3))}, false, false)
		return false, nil
	}
	w.own(refs)
	err = retry.OnError(retry.DefaultRetry, raced, func() error { return w.do(ctx) })
	if err != nil {
		return false, r.refuse(w, err)
	}
	w.noteGiven()
	r.tally.add(from.CRD, w.result, len(w.notKept) > 0, w.lessManagers)
	return false, nil
}

// raced reports whether an error is that of somebody else having written at the same moment.
func raced(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// waits reports whether owners that are missing may still come.
func (r *restorer) waits(missing []owner) bool {
	switch r.owners.stage {
	case stageWait:
		return true
	case stageDrop:
		return r.owners.mayCome(missing)
	case stageEnd:
	}
	return false
}

// refuse notes what the API server says against an object. Another error is one of the cluster, and ends the restore.
func (r *restorer) refuse(w *write, err error) error {
	if !errors.As(err, new(apierrors.APIStatus)) {
		return err
	}
	r.tally.add(w.target.was.Name, Result{Object: w.name, Outcome: Refused, Why: strings.Join(strings.Fields(err.Error()), " ")}, false, false)
	return nil
}

// write is an object that is restored.
type write struct {
	*restorer
	target *target
	chosen *chosen
	client dynamic.ResourceInterface
	name   string

	wanted   *unstructured.Unstructured // without what the API server sets
	uid      types.UID                  // in the backup
	managers []metav1.ManagedFieldsEntry

	result       Result
	notKept      []string
	lessManagers bool
}

func (r *restorer) writeOf(ctx context.Context, t *target, from archive.Object) (*write, error) {
	c, err := t.pick(ctx, from)
	if err != nil {
		return nil, err
	}
	w := &write{restorer: r, target: t, chosen: c, name: nameOf(from), wanted: c.object, uid: c.object.GetUID()}
	w.client = r.objects.Resource(t.resource(c.version)).Namespace(from.Namespace)
	w.managers, w.lessManagers = t.managers(c)
	return w, nil
}

// own is for an object whose owners are known: now it is as it is to be.
func (w *write) own(refs []metav1.OwnerReference) {
	strip(w.wanted)
	unstructured.RemoveNestedField(w.wanted.Object, "metadata", "ownerReferences")
	if len(refs) > 0 {
		w.wanted.SetOwnerReferences(refs)
	}
}

// strip takes off what the API server sets.
func strip(object *unstructured.Unstructured) {
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
}

// do writes what is to be written.
func (w *write) do(ctx context.Context) error {
	w.result = Result{Object: w.name}
	live, err := w.client.Get(ctx, w.wanted.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return w.create(ctx)
	}
	if err != nil {
		return err
	}
	if status := live.Object["status"]; w.chosen.given && w.wanted.Object["status"] == nil && status != nil {
		w.wanted.Object["status"] = runtime.DeepCopyJSONValue(status) // its controller writes it
	}
	paths, inStatus := w.different(live)
	unfinished := len(live.GetManagedFields()) > 0 && ours(live.GetManagedFields()) && inStatus && !w.DryRun && (len(paths) > 0 || !ours(w.managers))
	left := w.chosen.left
	switch {
	case live.GetDeletionTimestamp() != nil:
		w.result.Outcome, w.result.Why = Refused, "the one in the cluster is being deleted; restore it when that is done"
	case unfinished:
		w.result.Outcome = Created
		return w.finish(ctx, live)
	case len(paths) == 0 && w.Overwrite && w.notOurs() && anyOurs(live.GetManagedFields()): // an overwrite was interrupted
		w.result.Outcome = Overwritten
		if w.DryRun {
			w.compare(live)
			return nil
		}
		return w.finish(ctx, live)
	case len(paths) == 0 && len(left) == 0:
		w.result.Outcome = Unchanged
	case len(paths) == 0:
		w.result.Outcome, w.result.Why, w.result.Paths = Differs, w.withoutAll(), left
	case w.Overwrite:
		return w.overwrite(ctx, live)
	case len(left) > 0:
		w.result.Outcome, w.result.Why, w.result.Paths = Differs, w.withoutAll()+"; --overwrite writes over the rest", slices.Concat(paths, left)
	case inStatus:
		w.result.Outcome, w.result.Paths = OtherStatus, paths
	default:
		w.result.Outcome, w.result.Why, w.result.Paths = Differs, "it is there with other content; --overwrite writes over it", paths
	}
	return nil
}

// withoutAll says why an object that is there cannot be as in the backup.
func (w *write) withoutAll() string {
	return fmt.Sprintf("it is there with other content, and %s does not have all that the backup has", w.chosen.version)
}

// different are the paths at which an object of the cluster is not as it is to be, and whether all are in status. What a default
// of the schema fills in is no difference.
func (w *write) different(live *unstructured.Unstructured) (paths []string, inStatus bool) {
	is, wanted := live.DeepCopy(), w.wanted.DeepCopy()
	strip(is)
	v := w.target.now[w.chosen.version]
	if v.Fill(wanted.Object) == nil { // else a default that only one of them has is a difference
		_ = v.Fill(is.Object)
	}
	change := crdschema.ChangeOf(wanted.Object, is.Object)
	inStatus = true
	for _, some := range [][]crdschema.Path{change.Lost, change.Changed, change.Added} {
		for _, path := range some {
			paths = append(paths, path.String())
			inStatus = inStatus && path[0] == "status"
		}
	}
	return paths, inStatus
}

// ours reports whether only a restore has written managedFields: one that was interrupted before it ended with the
// object.
func ours(entries []metav1.ManagedFieldsEntry) bool {
	return !slices.ContainsFunc(entries, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager != Manager })
}

// anyOurs reports whether a restore has a part in them.
func anyOurs(entries []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(entries, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == Manager })
}

// notOurs reports whether the object has managers in the backup, and no restore is one of them.
func (w *write) notOurs() bool { return len(w.managers) > 0 && !anyOurs(w.managers) }

func (w *write) dry() []string {
	if w.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func (w *write) create(ctx context.Context) error {
	made, err := w.client.Create(ctx, w.wanted, metav1.CreateOptions{FieldManager: Manager, DryRun: w.dry()})
	if err != nil {
		return err
	}
	w.result.Outcome = Created
	if w.DryRun {
		made.SetUID(w.uid)
		w.owners.came(made)
		w.compare(made)
		return nil
	}
	w.owners.came(made)
	return w.finish(ctx, made)
}

func (w *write) overwrite(ctx context.Context, live *unstructured.Unstructured) error {
	object := w.wanted.DeepCopy()
	object.SetUID(live.GetUID())
	object.SetResourceVersion(live.GetResourceVersion())
	made, err := w.client.Update(ctx, object, metav1.UpdateOptions{FieldManager: Manager, DryRun: w.dry()})
	if err != nil {
		return err
	}
	w.result.Outcome = Overwritten
	if w.DryRun {
		w.compare(made)
		return nil
	}
	return w.finish(ctx, made)
}

// finish writes the status, and then who manages which field, which is the sign that the object is restored.
func (w *write) finish(ctx context.Context, made *unstructured.Unstructured) (err error) {
	if w.statusDiffers(made) {
		object := w.wanted.DeepCopy()
		object.SetUID(made.GetUID())
		object.SetResourceVersion(made.GetResourceVersion())
		if made, err = w.client.UpdateStatus(ctx, object, metav1.UpdateOptions{FieldManager: Manager}); err != nil {
			return err
		}
	}
	w.compare(made)
	if len(w.managers) == 0 {
		return nil
	}
	return w.giveTo(ctx, made, w.managers)
}

// statusDiffers reports whether the status has to be written by itself.
func (w *write) statusDiffers(made *unstructured.Unstructured) bool {
	if !crds.HasStatus(w.target.is, w.chosen.version) {
		return false
	}
	change := crdschema.ChangeOf(map[string]any{"status": w.wanted.Object["status"]}, map[string]any{"status": made.Object["status"]})
	return len(change.Lost)+len(change.Changed)+len(change.Added) > 0
}

// compare notes what the API server has not kept of what it was sent.
func (w *write) compare(made *unstructured.Unstructured) {
	w.notKept = append([]string(nil), w.chosen.left...)
	is := made.DeepCopy()
	strip(is)
	change := crdschema.ChangeOf(w.wanted.Object, is.Object)
	for _, path := range append(change.Lost, change.Changed...) {
		if path[0] == "status" && w.DryRun || w.target.isDefault(w.chosen.version, w.wanted.Object, path) {
			continue // a status is not written in the first request, and a dry run has no second
		}
		w.notKept = append(w.notKept, path.String())
	}
	switch {
	case len(w.chosen.left) > 0:
		w.result.Why = fmt.Sprintf("restored at %s, which does not have all of it", w.chosen.version)
	case len(w.notKept) > 0:
		w.result.Why = "the cluster does not keep all of it"
	}
	w.result.Paths = w.notKept
}
