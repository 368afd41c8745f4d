package crd

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// MayBeStoredAt are the versions at which objects of a CRD may be stored, in the order of the CRD: all that it lists, whatever
// status.storedVersions says. Others trim that list, also after a migration that failed (docs/decisions/0011). Only with the proof of
// the Moult whose opt-in label is labelKey, for the CRD as it is, they are all stored at the storage version.
func MayBeStoredAt(crd *apiextensionsv1.CustomResourceDefinition, labelKey string) []string {
	manager := v1alpha1.FieldManagerOf(v1alpha1.FieldManager, labelKey)
	if MigrationOf(crd, labelKey).Migrated && Says(crd.ManagedFields, manager, v1alpha1.StorageMigrated) {
		return []string{StorageVersion(crd)}
	}
	return Versions(crd)
}

// IsHidden is whether only the managedFields of objects show whether they are stored at a version (WrittenAt). The
// version is not served, and status.storedVersions does not name it, which is no proof.
func IsHidden(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	v := Version(crd, version)
	return v != nil && !v.Served && !slices.Contains(crd.Status.StoredVersions, version)
}

// WrittenAt is whether an object may be stored at a hidden version. Its managedFields have an entry of that version, or
// of one that has left the CRD, or there are none.
func WrittenAt(crd *apiextensionsv1.CustomResourceDefinition, entries []metav1.ManagedFieldsEntry, version string) bool {
	return len(entries) == 0 || slices.ContainsFunc(entries, func(entry metav1.ManagedFieldsEntry) bool {
		_, at, _ := strings.Cut(entry.APIVersion, "/")
		return at == version || !Has(crd, at)
	})
}
