package owners

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The API server gives a field to whoever changes it, so the one who set a reference would no longer own it: by server-side
// apply it could neither take the reference away nor set it again without a conflict. Ownership of a reference that was
// moved therefore goes back to those who had it.

// field is where managedFields have the reference to an owner.
func field(owner types.UID) fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "ownerReferences", fieldpath.KeyByFields("uid", string(owner)))
}

func decode(entry *metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	fields := fieldpath.NewSet()
	if entry.FieldsV1 == nil || entry.FieldsV1.GetRawString() == "" {
		return fields, nil
	}
	if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("managedFields of %s: %w", entry.Manager, err)
	}
	return fields, nil
}

// owns tells whether a set has a reference, or a field in it, as older API servers wrote it.
func owns(fields *fieldpath.Set, owner types.UID) bool {
	return fields.Has(field(owner)) || !below(fields, owner).Empty()
}

func below(fields *fieldpath.Set, owner types.UID) *fieldpath.Set {
	for _, element := range field(owner) {
		fields = fields.WithPrefix(element)
	}
	return fields
}

// writers are the managers that own a reference.
func writers(entries []metav1.ManagedFieldsEntry, owner types.UID) (names []string) {
	for i := range entries {
		if fields, err := decode(&entries[i]); err == nil && owns(fields, owner) && !slices.Contains(names, entries[i].Manager) {
			names = append(names, entries[i].Manager)
		}
	}
	return names
}

// same tells whether two entries are of one manager at one version. The API server keeps no two of these.
func same(a, b *metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource && a.APIVersion == b.APIVersion
}

// takers are the entries that own one of the references, and did not before.
func takers(before, after []metav1.ManagedFieldsEntry, moved []types.UID) (entries []metav1.ManagedFieldsEntry, err error) {
	for i := range after {
		now, err := decode(&after[i])
		if err != nil {
			return nil, err
		}
		had := fieldpath.NewSet()
		if k := slices.IndexFunc(before, func(e metav1.ManagedFieldsEntry) bool { return same(&e, &after[i]) }); k >= 0 {
			if had, err = decode(&before[k]); err != nil {
				return nil, err
			}
		}
		if slices.ContainsFunc(moved, func(owner types.UID) bool { return owns(now, owner) && !owns(had, owner) }) {
			entries = append(entries, after[i])
		}
	}
	return entries, nil
}

// ownedBy tells whether a reference belongs to one of those that have taken it.
func ownedBy(now, took []metav1.ManagedFieldsEntry, owner types.UID) bool {
	return slices.ContainsFunc(now, func(e metav1.ManagedFieldsEntry) bool {
		fields, err := decode(&e)
		return err == nil && owns(fields, owner) && slices.ContainsFunc(took, func(t metav1.ManagedFieldsEntry) bool { return same(&t, &e) })
	})
}

// returned are the entries of an object as they are now, with each moved reference owned by those that owned it before, and
// not by those that have taken it. One that nobody owned stays with those, and one that somebody has written since is theirs. It
// is nil if nothing has to change.
func returned(before, now, took []metav1.ManagedFieldsEntry, moved []types.UID) ([]metav1.ManagedFieldsEntry, error) {
	entries, changed := slices.Clone(now), false
	edit := func(of *metav1.ManagedFieldsEntry, add bool, owner types.UID) error {
		i := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return same(&e, of) })
		if i < 0 && !add {
			return nil
		}
		if i < 0 {
			fresh := *of
			fresh.FieldsV1 = nil
			entries, i = append(entries, fresh), len(entries)
		}
		fields, err := decode(&entries[i])
		if err != nil || owns(fields, owner) == add {
			return err
		}
		if reference := fieldpath.NewSet(field(owner)); add {
			fields = fields.Union(reference)
		} else {
			fields = fields.RecursiveDifference(reference)
		}
		raw, err := fields.ToJSON()
		if err != nil {
			return err
		}
		changed = true
		if entries[i].FieldsV1 = metav1.NewFieldsV1(string(raw)); fields.Empty() {
			entries = slices.Delete(entries, i, i+1)
		}
		return nil
	}
	for _, owner := range moved {
		var had []*metav1.ManagedFieldsEntry
		for i := range before {
			if fields, err := decode(&before[i]); err != nil {
				return nil, err
			} else if owns(fields, owner) {
				had = append(had, &before[i])
			}
		}
		if len(had) == 0 || !ownedBy(now, took, owner) {
			continue
		}
		for _, entry := range had {
			if err := edit(entry, true, owner); err != nil {
				return nil, err
			}
		}
		for i := range took {
			if !slices.ContainsFunc(had, func(e *metav1.ManagedFieldsEntry) bool { return same(e, &took[i]) }) {
				if err := edit(&took[i], false, owner); err != nil {
					return nil, err
				}
			}
		}
	}
	if !changed {
		return nil, nil
	}
	return entries, nil
}
