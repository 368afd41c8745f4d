package embeddedcopies

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/survivors"
)

// visit does what can be done now for one old copy: its successor, the names, and the removal once nothing names it.
type visit struct {
	*Migration
	*survey
	*stash

	// made is the successor as it was read; nil in a dry run that makes it.
	made *unstructured.Unstructured
}

// run leaves the copy with a reason, or goes one step on. The error is the context's, or the journal's.
func (v *visit) run(ctx context.Context) error {
	v.reported.Referrers = int64(len(v.names[v.Key]))
	if reason, why := v.waits(); reason != "" {
		v.leave(reason, why)
		return nil
	}
	live, err := v.read(ctx, v.At, v.Key)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case rewrite.IsGone(err, v.At.Group, v.Key.Name), err == nil && !v.meets(live):
		if elsewhere := v.Elsewhere(v.Listed); elsewhere != nil {
			v.Refuse(elsewhere, "get", v.At, v.reported)
		}
		return nil
	case err != nil:
		v.Refuse(err, "get", v.At, v.reported)
		return nil
	}
	if reason, why, err := v.owner(ctx, live); err != nil {
		return err
	} else if reason != "" {
		v.leave(reason, why)
		return nil
	}
	if held, err := v.losesFields(ctx, v.At, v.Key, "it", false); held || err != nil { // and so would the successor
		return err
	}
	converted, ok := v.convert(ctx, live)
	if !ok {
		return nil
	}
	successor, err := v.successor(ctx, live, converted)
	if err != nil || successor == "" {
		return err
	}
	v.reported.Successor, v.reported.To = successor, converted.Version
	if v.DryRun || len(v.names[v.Key]) > 0 {
		if done, err := v.repointAll(ctx, successor); err != nil || !done || !v.DryRun {
			return err
		}
	}
	if v.unknown {
		v.leave(NotKnown, "not everything that can name it could be read")
		return nil
	}
	return v.remove(ctx, live)
}

// meets reports whether what was read by the name is what was listed, which may have been written since.
func (v *visit) meets(live *unstructured.Unstructured) bool {
	version := live.GetResourceVersion()
	return version == v.ResourceVersion || live.GetUID() == v.uid && !slices.Contains(v.exists[v.Key], version)
}

// waits reports why the copy is not to be touched now.
func (v *visit) waits() (reason repairs.Reason, why string) {
	switch {
	case v.problem != nil:
		return Undecodable, v.problem.Error()
	case v.busy[v.Key.Namespace] != "":
		return Busy, v.busy[v.Key.Namespace]
	case v.Times(remade(v.Key)) >= repairs.MaxMoves:
		return repairs.ComesBack, "it was removed, and something has named it again"
	case v.mover != "" && !v.TakeOver && v.owned && len(v.names[v.Key]) > 0:
		return ByController, v.mover
	}
	return "", ""
}

// owner reads the object's controller: what has none or is being deleted is for the garbage collector, and so would be the
// successor.
func (v *visit) owner(ctx context.Context, live *unstructured.Unstructured) (reason repairs.Reason, why string, end error) {
	if live.GetDeletionTimestamp() != nil {
		return Terminating, "it is being deleted", nil
	}
	ref := metav1.GetControllerOfNoCopy(live)
	if ref == nil {
		return "", "", nil
	}
	owner, err := v.readOwner(ctx, live.GetNamespace(), ref)
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	reason, why = judged(ref, owner, err)
	return reason, why, nil
}

func (v *visit) readOwner(ctx context.Context, namespace string, ref *metav1.OwnerReference) (*unstructured.Unstructured, error) {
	mapping, err := v.Mapper.RESTMapping(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind())
	if err != nil {
		return nil, err
	}
	return v.read(ctx, mapping.Resource, types.NamespacedName{Namespace: namespace, Name: ref.Name})
}

// judged reports, from what was read or from the error, why the copy is not to be moved.
func judged(ref *metav1.OwnerReference, owner *unstructured.Unstructured, err error) (reason repairs.Reason, why string) {
	switch group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group; {
	case rewrite.IsGone(err, group, ref.Name):
		return Terminating, "its owner does not exist"
	case err != nil:
		return repairs.OwnerUnknown, "its owner cannot be read: " + err.Error()
	case owner.GetUID() != ref.UID:
		return Terminating, fmt.Sprintf("its owner does not exist: %s is another object now", ref.Name)
	case owner.GetDeletionTimestamp() != nil:
		return Terminating, "its owner is being deleted"
	}
	return "", ""
}

// convert makes the copy of the successor.
func (v *visit) convert(ctx context.Context, live *unstructured.Unstructured) (converted survivors.Copy, ok bool) {
	group := v.place.Groups[0]
	c, err := v.ReadCopy(group, live.Object)
	if err != nil {
		v.leave(Undecodable, err.Error())
		return c, false
	}
	target := v.target(group, c.Kind, c.Version)
	if target == nil {
		return c, false
	}
	if v.place.Convert == survivors.ByCRD {
		converted, err = v.convertByCRD(ctx, target, c)
	} else {
		converted, err = v.Convert(group, c)
	}
	switch {
	case errors.Is(err, survivors.ErrUndecodable):
		v.leave(Undecodable, err.Error())
	case err != nil:
		v.leave(NoRule, err.Error())
	case !slices.Contains(target.Staying, converted.Version):
		v.leave(NoRule, fmt.Sprintf("it can be converted to %s, which %s does not keep", converted.Version, target.CRD))
	default:
		if err := v.checkTypes(target.CRD, converted); err != nil {
			v.leave(Undecodable, err.Error())
			return converted, false
		}
		return converted, true
	}
	return converted, false
}

var errNoConverter = errors.New("this process cannot convert it as its CRD does")

// convertByCRD makes the copy of the successor as the API server would, for as long as the CRD has both versions.
func (v *visit) convertByCRD(ctx context.Context, target *survivors.Target, c survivors.Copy) (survivors.Copy, error) {
	if v.Converter == nil {
		return c, errNoConverter
	}
	converted, version, err := v.Converter.ConvertCopy(ctx, target.CRD, c.Object(), target.Staying)
	return c.As(version, converted), err
}

func (v *visit) checkTypes(crd string, converted survivors.Copy) error {
	if types := v.Types[CRDVersion{crd, converted.Version}]; types != nil {
		return types.Check(converted)
	}
	return nil
}

func (m *Migration) objects(at schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	return m.Client.Resource(at).Namespace(namespace)
}

func (m *Migration) read(ctx context.Context, at schema.GroupVersionResource, key types.NamespacedName) (item *unstructured.Unstructured, err error) {
	if err := rewrite.Impossible(at.GroupResource(), key.Name); err != nil {
		return nil, err
	}
	err = m.Retry().Do(ctx, func() (err error) {
		item, err = m.objects(at, key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		return err
	})
	return item, err
}

func (v *visit) leave(reason repairs.Reason, why string) {
	reported := v.reported
	reported.Why = why
	v.Leave(reason, "", reported)
}

// remove keeps the object where it can be had again, and deletes it if it is as it was read.
func (v *visit) remove(ctx context.Context, live *unstructured.Unstructured) error {
	if v.Clock.Now().After(v.fresh) {
		v.Again() // what names it may have changed by now
		return nil
	}
	if !v.DryRun {
		if kept, err := v.keep(ctx, live); err != nil || !kept {
			return err
		}
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	err := v.Retry().Write(ctx, v.Lane, func() error {
		return v.objects(v.At, v.Key.Namespace).Delete(ctx, v.Key.Name, metav1.DeleteOptions{
			DryRun: v.DryRunOption(), Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
			PropagationPolicy: new(metav1.DeletePropagationBackground),
		})
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil, rewrite.IsGone(err, v.At.Group, v.Key.Name):
		v.Moved(v.reported)
		v.Again()
		if !v.DryRun {
			v.Tell(Replacement{Item: v.reported, Now: v.made})
		}
	case apierrors.IsConflict(err): // written since, and for the next look
		v.Again()
	default:
		v.Refuse(err, "delete", v.At, v.reported)
	}
	return nil
}
