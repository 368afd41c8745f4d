package restore

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/controllers/rewrite"
)

// managers are the managedFields of an object in the backup. Those at versions that the CRD no longer has are moved to the version
// restored at, as a migration moves them, so that tools prune as before. Some are left out: which fields they are is not known.
func (t *target) managers(c *chosen) (entries []metav1.ManagedFieldsEntry, some bool) {
	all := c.object.GetManagedFields()
	entries = slices.DeleteFunc(slices.Clone(all), func(e metav1.ManagedFieldsEntry) bool { return !t.movable(e, c.version) })
	moving := rewrite.Ownership{
		Group: t.is.Spec.Group, StorageVersion: c.version, Versions: crds.Versions(t.is), Has: rewrite.HasPath(rewrite.PrunedBy(t.is, c.version)),
	}
	moved, err := moving.Move(entries)
	if err != nil { // one cannot be read, and the API server would drop all
		return nil, len(all) > 0
	}
	return moved, len(entries) < len(all)
}

// movable reports whether the fields of an entry are called the same at the version restored at. A webhook may call them otherwise,
// and so does a list with other keys.
func (t *target) movable(e metav1.ManagedFieldsEntry, to string) bool {
	_, version, _ := strings.Cut(e.APIVersion, "/")
	return crds.Has(t.is, version) || !t.hooked && (!crds.Has(t.was, version) || rewrite.SameGroups(schemaAt(t.was, version), schemaAt(t.is, to)))
}

func schemaAt(crd *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.JSONSchemaProps {
	if v := crds.Version(crd, version); v.Schema != nil {
		return v.Schema.OpenAPIV3Schema
	}
	return nil
}
