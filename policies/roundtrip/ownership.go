package roundtrip

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
)

// The clients of an object: one applies it, and another one changes a label of its own.
const (
	applier, other = "applier", "other"
	otherLabel     = "example.com/other"
)

// ownership has a client apply an object, another one change a label of its own at another version, and the first one
// go on there. The first one applies the same, and then less, by the API server's own field manager. Where a trip
// fails, nothing more is known.
func (c *Checker) ownership(ctx context.Context, o Object, via string, known []Problem) []Problem {
	if c.types == nil || o.After != nil || slices.ContainsFunc(known, func(p Problem) bool { return p.Kind == "" || p.Kind.Fails() }) {
		return nil
	}
	a := &applying{ctx: ctx, checker: c}
	applied := runtime.DeepCopyJSON(o.Content)
	delete(applied, "status")
	empty := runtime.DeepCopyJSON(applied)
	delete(empty, "spec")
	live := a.read(a.apply(empty, applied), via)
	if a.err != nil {
		return nil // it cannot be told
	}
	labelled := live.DeepCopy()
	labels := labelled.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[otherLabel] = "a"
	labelled.SetLabels(labels)
	live = a.update(live, labelled)
	moved := a.convert(applied, via)
	if a.err != nil {
		return nil
	}
	live = a.apply(live.Object, moved)
	if a.away != nil {
		return []Problem{{What: a.away.Error()}}
	}
	if a.err != nil {
		return []Problem{{Kind: Ownership, What: "what is applied is refused after the other client has changed a label", Says: a.err.Error()}}
	}
	if live = a.read(live, via); a.err != nil {
		return nil // a trip reports it
	}
	var all []Problem
	for _, d := range between(moved, live.Object) {
		if was := crdschema.At(moved, d.path); d.way != added && !crdschema.IsEmpty(was) && d.path[0] != "metadata" {
			all = append(all, Problem{Kind: Ownership, What: d.path.String(), Was: was, Is: crdschema.At(live.Object, d.path)})
		}
	}
	if live.GetLabels()[otherLabel] == "" {
		all = append(all, Problem{Kind: Ownership, What: "metadata.labels." + otherLabel, Was: "a"})
	}
	return append(all, a.less(live, moved, c.engine.Version(via))...)
}

// applying has the field managers of a CRD, one for each version. After an error it does nothing more.
type applying struct {
	ctx     context.Context //nolint:containedctx // the field manager's converter is given none
	checker *Checker
	err     error
	// away is why the webhook cannot be reached, which the field manager's errors do not tell apart.
	away *conversion.Failure
}

// less applies an object without each of the fields of its spec, but for those that have to be there.
func (a *applying) less(live *unstructured.Unstructured, applied map[string]any, at *crdschema.Version) (all []Problem) {
	spec, _ := applied["spec"].(map[string]any)
	schema := crdschema.SchemaAt(at.Schema, crdschema.Path{"spec"})
	for name, value := range spec {
		path := crdschema.Path{"spec", name}
		if schema != nil && schema.ValueValidation != nil && slices.Contains(schema.ValueValidation.Required, name) {
			continue
		}
		less := runtime.DeepCopyJSON(applied)
		unstructured.RemoveNestedField(less, "spec", name)
		left := a.read(a.apply(live.Object, less), versionOf(Object{Content: applied}))
		if a.err != nil {
			a.err = nil // it cannot be left out
			continue
		}
		if is := crdschema.At(left.Object, path); is != nil && !crdschema.IsEmpty(value) && !at.IsDefault(left.Object, path) {
			all = append(all, Problem{Kind: Ownership, What: path.String() + " stays although its owner does not apply it any more", Was: value, Is: is})
		}
	}
	return all
}

func (a *applying) manager(of schema.GroupVersionKind) *managedfields.FieldManager {
	manager, err := managedfields.NewDefaultCRDFieldManager(a.checker.types, a, a, a, of, of.GroupVersion(), "", nil)
	a.err = errors.Join(a.err, err)
	return manager
}

func (a *applying) apply(live, applied map[string]any) *unstructured.Unstructured {
	of := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(applied)}
	manager := a.manager(of.GroupVersionKind())
	if a.err != nil {
		return nil
	}
	is, err := manager.Apply(&unstructured.Unstructured{Object: runtime.DeepCopyJSON(live)}, of, applier, false)
	return a.taken(is, err, live)
}

func (a *applying) update(live, now *unstructured.Unstructured) *unstructured.Unstructured {
	manager := a.manager(live.GroupVersionKind())
	if a.err != nil {
		return nil
	}
	is, err := manager.Update(live.DeepCopy(), now.DeepCopy(), other)
	return a.taken(is, err, now.Object)
}

// taken is what a field manager answers; nothing is that nothing changes.
func (a *applying) taken(is runtime.Object, err error, live map[string]any) *unstructured.Unstructured {
	if err != nil {
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			err = errors.New(status.Status().Message)
		}
		a.err = err
		return nil
	}
	if now, ok := is.(*unstructured.Unstructured); ok && now != nil {
		return now
	}
	return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(live)}
}

// read is an object as it is read at a version, stored at the storage version.
func (a *applying) read(object *unstructured.Unstructured, version string) *unstructured.Unstructured {
	if a.err != nil {
		return nil
	}
	e := a.checker.engine
	is := a.checker.readAt(a.ctx, a.checker.readAt(a.ctx, []map[string]any{object.Object}, e.Storage), version)[0]
	if is == nil {
		a.err = errors.New("it cannot be converted")
	}
	return &unstructured.Unstructured{Object: is}
}

func (a *applying) convert(object map[string]any, version string) map[string]any {
	is, err := a.checker.engine.Converted(a.ctx, object, version)
	a.err = errors.Join(a.err, err)
	return is
}

// ConvertToVersion is for the field manager.
func (a *applying) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	object, ok := in.(*unstructured.Unstructured)
	kind, is := gv.KindForGroupVersionKinds([]schema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()})
	if !ok || !is {
		return nil, errors.New("it is no object of the CRD")
	}
	converted, err := a.checker.engine.Converted(a.ctx, object.Object, kind.Version)
	if failure := (conversion.Failure{}); errors.As(err, &failure) && failure.Fault == conversion.FaultUnreachable {
		a.away = &failure
	}
	return &unstructured.Unstructured{Object: converted}, err
}

// Convert is not asked for.
func (a *applying) Convert(_, _, _ any) error { return errors.ErrUnsupported }

// ConvertFieldLabel is not asked for.
func (a *applying) ConvertFieldLabel(_ schema.GroupVersionKind, _, _ string) (field, value string, err error) {
	return "", "", errors.ErrUnsupported
}

// Default is for the field manager.
func (a *applying) Default(in runtime.Object) {
	if object, ok := in.(*unstructured.Unstructured); ok {
		if v := a.checker.engine.Version(object.GroupVersionKind().Version); v != nil {
			_ = v.Fill(object.Object) // too large an object cannot be read, either
		}
	}
}

// New is an object of which nothing is set, for the field manager.
func (a *applying) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, nil
}
