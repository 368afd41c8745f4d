package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/snapshot"
)

// takeFields counts which fields the objects of a CRD have, at the storage version and at each that has more. None if
// that is not asked for, or a webhook converts: then it is for that to carry them.
func (t *taker) takeFields(ctx context.Context, crd seen) (fields []snapshot.FieldsAt) {
	if !t.opts.Fields || crd.whole == nil || crd.Conversion == string(apiextensionsv1.WebhookConverter) || ctx.Err() != nil {
		return nil
	}
	finder, err := crdschema.Of(crd.whole)
	if err != nil {
		t.leaveOut(snapshot.FieldsOfCRD, crd.Name, fmt.Sprintf("which fields the objects of %s have is not known: %v", crd.Name, err))
		return nil
	}
	storage := crds.StorageVersion(crd.whole)
	for _, v := range crd.Versions {
		stored := slices.Contains(crds.MayBeStoredAt(crd.whole, t.LabelKey), v.Name)
		switch {
		case v.Name != storage && len(finder.Lacking(v.Name)) == 0:
		case v.Served:
			used, err := t.used(ctx, crd.whole, v.Name)
			if err != nil {
				t.leaveOut(snapshot.FieldsOfCRD, crd.Name, err.Error())
				return nil
			}
			fields = append(fields, snapshot.FieldsAt{Version: v.Name, Used: used})
		case stored && crds.IsHidden(crd.whole, v.Name):
			if why := t.mayHave(ctx, crd.whole, finder, v.Name); why != "" {
				t.leaveOut(snapshot.FieldsOfCRD, crd.Name, why)
				return nil
			}
		case stored:
			t.leaveOut(snapshot.FieldsOfCRD, crd.Name, fmt.Sprintf("which fields the objects of %s have that are stored at %s is not known: the version is not served", crd.Name, v.Name))
			return nil
		}
	}
	return fields
}

// mayHave says that objects may have fields at a version at which they cannot be read, as their managedFields show; empty if none has.
func (t *taker) mayHave(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, finder *crdschema.Finder, version string) string {
	var fields []string
	var unclear error
	objects := 0
	restart := func() { fields, objects = nil, 0 }
	err := t.EachPage(ctx, crd, crds.StorageVersion(crd), restart, t.opts.Tell, func(page []map[string]any) {
		for _, object := range page {
			named, err := finder.MayHave(object, (&unstructured.Unstructured{Object: object}).GetManagedFields(), version)
			unclear = errors.Join(unclear, err)
			if len(named) > 0 {
				objects++
				fields = slices.Compact(slices.Sorted(slices.Values(append(fields, named...))))
			}
		}
	})
	switch err = errors.Join(err, unclear); {
	case err != nil:
		return err.Error()
	case objects > 0:
		return fmt.Sprintf("which fields the objects of %s have is not known: %d of them may be stored at %s, which is not served, with %s", crd.Name, objects, version, strings.Join(fields[:min(len(fields), maxExamples)], ", "))
	}
	return ""
}

// used are the fields of all objects, read at a version.
func (t *taker) used(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) ([]crdschema.Used, error) {
	v, err := crdschema.VersionOf(crd, version)
	if err != nil {
		return nil, err
	}
	usage := crdschema.NewUsage(v)
	err = t.EachPage(ctx, crd, version, func() { usage = crdschema.NewUsage(v) }, t.opts.Tell, func(page []map[string]any) {
		for _, object := range page {
			name := ""
			if !t.opts.NoNames {
				name = cache.MetaObjectToName(&unstructured.Unstructured{Object: object}).String()
			}
			usage.Add(object, name)
		}
	})
	return usage.Fields(), err
}
