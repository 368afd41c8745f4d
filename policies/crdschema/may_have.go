package crdschema

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// MayHave are the fields that an object may lose if it is stored at a version that cannot be read, sorted, as patterns of
// Lacking. They are all of them if it was ever written at that version, and none otherwise. A value at a field that the storage version
// lacks was last written through that version, or through one that has left the CRD since. A write through any other version
// would have dropped it. The API server records each such write in managedFields. Which fields an entry names says nothing of
// those that mutating admission has set: when an object is created, they are recorded before it
// (k8s.io/apiserver pkg/endpoints/handlers/create.go). Where managedFields do not record all, every lacking field may be there.
func (f *Finder) MayHave(object map[string]any, entries []metav1.ManagedFieldsEntry, version string) (patterns []string, err error) {
	all, bytes := fieldpath.NewSet(), 0
	for _, entry := range entries {
		_, at, _ := strings.Cut(entry.APIVersion, "/")
		if at == version || f.versions[at] == nil {
			return f.Lacking(version), nil // of what has left the CRD, the API server has recorded nothing
		}
		if entry.FieldsV1 == nil {
			continue
		}
		if bytes += len(entry.FieldsV1.GetRawString()); bytes > longestFields {
			return f.Lacking(version), nil
		}
		owned := &fieldpath.Set{}
		if err := owned.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("the entry of %s in managedFields cannot be read: %w", entry.Manager, err)
		}
		all = all.Union(owned)
	}
	if len(entries) == 0 || f.unowned(object, all) {
		return f.Lacking(version), nil
	}
	return nil, nil
}

// longestFields is how many bytes of managedFields are read of one object. Any writer of the object can fill them, and the time
// to read them grows with the square of their number: 1.2 MB would take six seconds.
const longestFields = 128 << 10

// unowned is whether an object, as it is read at the storage version, has a field outside of status that no entry
// names. Then managedFields were cleared once, or an admission webhook writes what they do not record.
func (f *Finder) unowned(object map[string]any, owned *fieldpath.Set) bool {
	for name, value := range object {
		if slices.Contains(meta, name) || InStatus(name) {
			continue
		}
		if below, inner := owned.Children.Get(fieldpath.PathElement{FieldName: &name}); inner {
			fields, _ := value.(map[string]any)
			for key := range fields {
				if !has(below, key) && !f.to.IsDefault(object, Path{name, key}) {
					return true
				}
			}
		} else if !has(owned, name) && !f.to.IsDefault(object, Path{name}) {
			return true
		}
	}
	return false
}

// has is whether a set has a field, or something below it.
func has(set *fieldpath.Set, name string) bool {
	element := fieldpath.PathElement{FieldName: &name}
	_, inner := set.Children.Get(element)
	return inner || set.Members.Has(element)
}
