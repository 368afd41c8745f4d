package restore

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

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
func (t *target) pick(o archive.Object) (*chosen, error) {
	var best *chosen
	for _, version := range t.versions {
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
	if t.convertTo == "" {
		return best, nil
	}
	return t.converted(best)
}

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

// converted is an object at a version that it was not read at, as the API server converts without a webhook.
func (t *target) converted(from *chosen) (*chosen, error) {
	object := from.object.DeepCopy()
	object.SetAPIVersion(t.is.Spec.Group + "/" + t.convertTo)
	as, err := t.then[t.convertTo].Coerced(object.Object, true)
	if err != nil {
		return nil, err
	}
	to := &chosen{object: &unstructured.Unstructured{Object: as}, version: t.convertTo, left: from.left}
	to.left = append(to.left, t.lacking(from, to)...)
	to.left = words.Distinct(to.left)
	return to, nil
}
