package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

// chosen is an object at the version that it is restored at.
type chosen struct {
	object  *unstructured.Unstructured
	version string
	// left are fields that the object has in the backup and not here.
	left []string
	// given is set if somebody has converted it. Then it need not have a status. What differs from the backup is in other.
	given bool
	other []string
}

// pick is an object at the version that it is restored at.
func (t *target) pick(ctx context.Context, o archive.Object) (*chosen, error) {
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	if t.files[key] {
		t.met.Store(key, true)
	}
	best, err := t.best(o)
	switch {
	case err != nil:
		return nil, err
	case best == nil:
		return nil, refusal{fmt.Errorf("the backup could read it only at %s, which the cluster does not serve", strings.Join(slices.Sorted(maps.Keys(o.Copies)), ", "))}
	}
	switch given := t.given[key]; {
	case given != nil:
		return t.replaced(best, given)
	case t.engine != nil:
		return t.asked(ctx, best)
	case t.unasked != "":
		return nil, refusal{errors.New("it is not among the objects of --converted. " + t.unasked)}
	}
	return best, nil
}

// best is the copy of an object that has most. Without a webhook, each version of a CRD shows only the fields that its schema
// names. So a copy at another version may have some that the one at the storage version lacks.
func (t *target) best(o archive.Object) (best *chosen, err error) {
	var copies []*chosen
	for _, version := range t.read {
		if o.Copies[version] == nil {
			continue // it could not be read there
		}
		object, err := decoded(o.Copies[version])
		if err != nil {
			return nil, err
		}
		c := &chosen{object: object, version: version}
		if crds.HasWebhook(t.was) {
			return c, nil
		}
		copies = append(copies, c)
	}
	for _, version := range t.versions {
		if best != nil && len(best.left) == 0 {
			break // no other has more
		}
		c, err := t.gathered(version, copies)
		if err != nil {
			return nil, err
		}
		if c != nil && (best == nil || len(t.lacking(c, best)) > 0 && len(t.lacking(best, c)) == 0) {
			best = c
		}
	}
	return best, nil
}

// gathered is an object at a version, with what the copies at others have more, as far as the version has it. It is nil if no copy
// can be used there.
func (t *target) gathered(version string, copies []*chosen) (*chosen, error) {
	at := slices.IndexFunc(copies, func(c *chosen) bool { return c.version == version })
	if at < 0 && (t.hooked || len(copies) == 0) {
		return nil, nil
	}
	to := &chosen{version: version}
	if at >= 0 {
		to.object = copies[at].object
	} else {
		at = 0
		carried, err := t.carried(copies[0], version)
		if err != nil {
			return nil, err
		}
		to.object = carried
		to.left = t.names(t.lacking(copies[0], to))
	}
	for i, c := range copies {
		if i == at || len(t.lacking(c, to)) == 0 {
			continue
		}
		if !t.hooked {
			if err := t.take(to, c); err != nil {
				return nil, err
			}
		}
		for _, name := range t.names(t.lacking(c, to)) {
			if !slices.ContainsFunc(to.left, func(left string) bool { return left == name || strings.HasPrefix(left, name+" at ") }) {
				to.left = append(to.left, name+" at "+c.version)
			}
		}
	}
	return to, nil
}

// take sets what another copy has more and the version has, too.
func (t *target) take(to, from *chosen) error {
	object, err := t.carried(from, to.version)
	if err != nil {
		return err
	}
	to.object = to.object.DeepCopy()
	for _, path := range t.lacking(&chosen{object: object, version: from.version}, to) {
		if _, isName := path[len(path)-1].(string); isName {
			crdschema.Put(to.object.Object, path, crdschema.At(object.Object, path))
		}
	}
	return nil
}

// carried is an object at another version, as the API server converts without a webhook.
func (t *target) carried(from *chosen, version string) (*unstructured.Unstructured, error) {
	object := from.object.DeepCopy()
	object.SetAPIVersion(t.is.Spec.Group + "/" + version)
	as, err := t.now[version].Coerced(object.Object, true)
	return &unstructured.Unstructured{Object: as}, err
}

// names are paths as text; with --fields, those that have to do with one of these.
func (t *target) names(paths []crdschema.Path) (all []string) {
	for _, path := range paths {
		if name := crdschema.AnyItem(path.String()); len(t.fields) == 0 || slices.ContainsFunc(t.fields, func(field string) bool {
			return crdschema.Allows([]string{field}, name) || within(field, name) || within(name, field)
		}) {
			all = append(all, path.String())
		}
	}
	return all
}

// refusal is why one object cannot be restored.
type refusal struct{ error }

func decoded(raw []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	return object, runtime.DecodeInto(unstructured.UnstructuredJSONScheme, raw, object)
}

// lacking are the paths that an object has, and another lacks, but for defaults, nulls that stand for nothing, and metadata.
func (t *target) lacking(has, lacks *chosen) []crdschema.Path {
	return t.telling(has, crdschema.ChangeOf(has.object.Object, lacks.object.Object).Lost)
}

// telling are those of the paths of an object at which it has something of its own.
func (t *target) telling(has *chosen, paths []crdschema.Path) []crdschema.Path {
	v := t.then[has.version]
	return slices.DeleteFunc(paths, func(path crdschema.Path) bool {
		return path[0] == "metadata" || v != nil && (v.IsAbsent(has.object.Object, path, nil) || v.IsDefault(has.object.Object, path))
	})
}

func (t *target) isDefault(version string, object map[string]any, path crdschema.Path) bool {
	v := t.then[version]
	return v != nil && v.IsDefault(object, path)
}

// asked is an object that the webhook has converted, and back to know what that loses or changes.
func (t *target) asked(ctx context.Context, from *chosen) (*chosen, error) {
	to := &chosen{version: t.convertTo, left: from.left}
	as, err := t.engine.Converted(ctx, from.object.Object, t.convertTo)
	if err != nil {
		return nil, refusal{fmt.Errorf("it cannot be converted from %s to %s: %w", from.version, t.convertTo, err)}
	}
	to.object = withMetadata(&unstructured.Unstructured{Object: as}, from.object)
	back, err := t.engine.Converted(ctx, to.object.Object, from.version)
	if err != nil {
		return nil, refusal{fmt.Errorf("converted to %s, it cannot be converted back to %s: %w", t.convertTo, from.version, err)}
	}
	change := crdschema.ChangeOf(from.object.Object, back)
	changed := slices.DeleteFunc(change.Changed, func(path crdschema.Path) bool {
		v := t.then[from.version]
		return path[0] == "metadata" || v != nil && v.Respelled(path, crdschema.At(from.object.Object, path), crdschema.At(back, path))
	})
	to.left = words.Distinct(append(to.left, t.names(append(t.telling(from, change.Lost), changed...))...))
	return to, nil
}

// withMetadata is a converted object with the metadata that it had. Annotations that the conversion has added stay: a webhook
// keeps there what the version does not have.
func withMetadata(as, was *unstructured.Unstructured) *unstructured.Unstructured {
	annotations := as.GetAnnotations()
	as.Object["metadata"] = was.DeepCopy().Object["metadata"]
	if len(annotations) > 0 {
		maps.Copy(annotations, was.GetAnnotations())
		as.SetAnnotations(annotations)
	}
	return as
}
