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
}

// pick takes the copy of an object that has most. Without a webhook, each version of a CRD shows only the fields that
// its schema names. A copy at an older version may have some that the one at the storage version lacks.
func (t *target) pick(ctx context.Context, o archive.Object) (*chosen, error) {
	var best *chosen
	for _, version := range t.versions {
		if o.Copies[version] == nil {
			continue // it could not be read there
		}
		object, err := decoded(o.Copies[version])
		if err != nil {
			return nil, err
		}
		c := &chosen{object: object, version: version}
		if best == nil {
			best = c
			if crds.HasWebhook(t.was) {
				break
			}
			continue
		}
		more, less := t.lacking(c, best), t.lacking(best, c)
		if len(more) > 0 && len(less) == 0 {
			best = c
			continue
		}
		for _, path := range more {
			best.left = append(best.left, fmt.Sprintf("%s at %s", path, version))
		}
	}
	switch {
	case best == nil:
		return nil, refusal{fmt.Errorf("the backup could read it only at %s, which the cluster does not serve", strings.Join(slices.Sorted(maps.Keys(o.Copies)), ", "))}
	case t.convertTo == "":
		return best, nil
	}
	given := t.given[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}]
	switch {
	case given != nil:
		return replaced(best, given), nil
	case t.engine != nil:
		return t.asked(ctx, best)
	case t.unasked != "":
		return nil, refusal{errors.New("it is not among the objects of --converted. " + t.unasked)}
	}
	return t.converted(best)
}

// refusal is why one object cannot be restored.
type refusal struct{ error }

func decoded(raw []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	return object, runtime.DecodeInto(unstructured.UnstructuredJSONScheme, raw, object)
}

// lacking are the paths that an object has, and another lacks, but for defaults and metadata.
func (t *target) lacking(has, lacks *chosen) (paths []string) {
	for _, path := range crdschema.ChangeOf(has.object.Object, lacks.object.Object).Lost {
		if path[0] != "metadata" && !t.isDefault(has.version, has.object.Object, path) {
			paths = append(paths, path.String())
		}
	}
	return paths
}

func (t *target) isDefault(version string, object map[string]any, path crdschema.Path) bool {
	v := t.then[version]
	return v != nil && v.IsDefault(object, path)
}

// asked is an object that the webhook has converted, and back to know what that loses.
func (t *target) asked(ctx context.Context, from *chosen) (*chosen, error) {
	to := &chosen{version: t.convertTo, left: from.left}
	as, err := t.engine.Converted(ctx, from.object.Object, t.convertTo)
	if err != nil {
		return nil, refusal{fmt.Errorf("it cannot be converted from %s to %s: %w", from.version, t.convertTo, err)}
	}
	to.object = &unstructured.Unstructured{Object: as}
	back, err := t.engine.Converted(ctx, as, from.version)
	if err != nil {
		return nil, refusal{fmt.Errorf("converted to %s, it cannot be converted back to %s: %w", t.convertTo, from.version, err)}
	}
	to.left = words.Distinct(append(to.left, t.lacking(from, &chosen{object: &unstructured.Unstructured{Object: back}})...))
	return to, nil
}

// converted is an object at a version that it was not read at, as the API server converts without a webhook.
func (t *target) converted(from *chosen) (*chosen, error) {
	object := from.object.DeepCopy()
	object.SetAPIVersion(t.is.Spec.Group + "/" + t.convertTo)
	schema := t.then[t.convertTo]
	if schema == nil {
		schema = t.now[t.convertTo]
	}
	as, err := schema.Coerced(object.Object, true)
	if err != nil {
		return nil, err
	}
	to := &chosen{object: &unstructured.Unstructured{Object: as}, version: t.convertTo, left: from.left}
	to.left = append(to.left, t.lacking(from, to)...)
	to.left = words.Distinct(to.left)
	return to, nil
}
