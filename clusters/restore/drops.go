package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

// drops are fields that a write would drop, since the version restored at does not have them. The object has them, or may have them,
// at another one. It is the guard of a migration, for one object. The reason is empty if there are none.
func (w *write) drops(ctx context.Context, live *unstructured.Unstructured) (fields []string, why string, err error) {
	at, stored := w.chosen.version, crds.StorageVersion(w.target.is)
	if crds.HasWebhook(w.target.is) {
		if at != stored {
			why = fmt.Sprintf("objects are stored at %s, and a webhook converts what is written at %s, so what only %[1]s has may be dropped; name %[1]s with --version", stored, at)
		}
		return nil, why, nil
	}
	guard := w.target.guards[at]
	var versions []string
	for _, version := range guard.versions {
		some, err := w.dropsOf(ctx, live, guard.finder, version)
		if err != nil {
			return nil, "", err
		}
		if some = slices.DeleteFunc(some, crdschema.InStatus); len(some) > 0 {
			fields, versions = append(fields, some...), append(versions, version)
		}
	}
	if len(fields) > 0 {
		why = fmt.Sprintf("a write at %s would drop what the object has, or may have, at %s; serve a version with these fields, and name it with --version", at, strings.Join(versions, ", "))
	}
	return words.Distinct(fields), why, nil
}

// guard finds what a write at a version drops, which is what only the versions have that it knows.
type guard struct {
	finder   *crdschema.Finder
	versions []string
}

// guardsOf are those of each version that is served, for objects that may be stored at any.
func guardsOf(crd *apiextensionsv1.CustomResourceDefinition) (map[string]guard, error) {
	guards := map[string]guard{}
	for _, at := range crds.Served(crd) {
		finder, err := crdschema.Of(crds.StoredAt(crd, at))
		if err != nil {
			return nil, err
		}
		stored := words.Distinct(append([]string{crds.StorageVersion(crd)}, crd.Status.StoredVersions...))
		guards[at] = guard{finder, slices.DeleteFunc(stored, func(version string) bool { return len(finder.Lacking(version)) == 0 })}
	}
	return guards, nil
}

// dropsOf are those that the object has at one version. One that is not served cannot be read there, so its managedFields are asked.
func (w *write) dropsOf(ctx context.Context, live *unstructured.Unstructured, finder *crdschema.Finder, version string) ([]string, error) {
	if !apihelpers.HasServedCRDVersion(w.target.is, version) {
		return finder.MayHave(live.Object, live.GetManagedFields(), version)
	}
	resource := w.target.resource(version)
	there, err := w.objects.Resource(resource).Namespace(live.GetNamespace()).Get(ctx, live.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if there.GetResourceVersion() != live.GetResourceVersion() {
		return nil, apierrors.NewConflict(resource.GroupResource(), live.GetName(), errors.New("it was written between two readings"))
	}
	return finder.LostFrom(there.Object, version)
}
