package owners

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/moult-dev/moult/controllers/rewrite"
)

// The API server gives a field to the client that changes it, so the one who set a reference would no longer own it. By
// server-side apply it could not take the reference away or set it again without a conflict. Ownership of a reference
// that was moved therefore goes back to those who had it.

// field is where managedFields have the reference to an owner.
func field(owner types.UID) fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "ownerReferences", fieldpath.KeyByFields("uid", string(owner)))
}

// owns reports whether a set has a reference, or a field in it, as older API servers wrote it.
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
		if fields, err := rewrite.DecodeFields(entries[i]); err == nil && owns(fields, owner) && !slices.Contains(names, entries[i].Manager) {
			names = append(names, entries[i].Manager)
		}
	}
	return names
}

// takers are the entries that own one of the references, and did not before.
func takers(before, after []metav1.ManagedFieldsEntry, moved []types.UID) (entries []metav1.ManagedFieldsEntry, err error) {
	for i := range after {
		now, err := rewrite.DecodeFields(after[i])
		if err != nil {
			return nil, err
		}
		had := fieldpath.NewSet()
		if k := slices.IndexFunc(before, func(e metav1.ManagedFieldsEntry) bool { return rewrite.SameManager(e, after[i]) }); k >= 0 {
			if had, err = rewrite.DecodeFields(before[k]); err != nil {
				return nil, err
			}
		}
		if slices.ContainsFunc(moved, func(owner types.UID) bool { return owns(now, owner) && !owns(had, owner) }) {
			entries = append(entries, after[i])
		}
	}
	return entries, nil
}

// ownedBy reports whether a reference belongs to one of those that have taken it.
func ownedBy(now, took []metav1.ManagedFieldsEntry, owner types.UID) bool {
	return slices.ContainsFunc(now, func(e metav1.ManagedFieldsEntry) bool {
		fields, err := rewrite.DecodeFields(e)
		return err == nil && owns(fields, owner) && slices.ContainsFunc(took, func(t metav1.ManagedFieldsEntry) bool { return rewrite.SameManager(t, e) })
	})
}

// edited are the entries of an object on their way to other owners of references.
type edited struct {
	entries []metav1.ManagedFieldsEntry
	changed bool
}

// set gives the reference to an owner to the writer of an entry, or takes it away.
func (e *edited) set(of metav1.ManagedFieldsEntry, owner types.UID, owned bool) error {
	i := slices.IndexFunc(e.entries, func(entry metav1.ManagedFieldsEntry) bool { return rewrite.SameManager(entry, of) })
	if i < 0 && !owned {
		return nil
	}
	if i < 0 {
		of.FieldsV1 = nil
		e.entries, i = append(e.entries, of), len(e.entries)
	}
	fields, err := rewrite.DecodeFields(e.entries[i])
	if err != nil || owns(fields, owner) == owned {
		return err
	}
	if reference := fieldpath.NewSet(field(owner)); owned {
		fields = fields.Union(reference)
	} else {
		fields = fields.RecursiveDifference(reference)
	}
	raw, err := fields.ToJSON()
	if err != nil {
		return err
	}
	e.changed = true
	if e.entries[i].FieldsV1 = metav1.NewFieldsV1(string(raw)); fields.Empty() {
		e.entries = slices.Delete(e.entries, i, i+1)
	}
	return nil
}

// restored are the entries of an object as they are now, with each moved reference owned by those that owned it before,
// and not by those that have taken it. One without an owner stays with those, and one that somebody has written since
// is theirs. It is nil if nothing has to change.
func restored(before, now, took []metav1.ManagedFieldsEntry, moved []types.UID) ([]metav1.ManagedFieldsEntry, error) {
	e := &edited{entries: slices.Clone(now)}
	for _, owner := range moved {
		var had []metav1.ManagedFieldsEntry
		for _, entry := range before {
			if fields, err := rewrite.DecodeFields(entry); err != nil {
				return nil, err
			} else if owns(fields, owner) {
				had = append(had, entry)
			}
		}
		if len(had) == 0 || !ownedBy(now, took, owner) {
			continue
		}
		for _, entry := range had {
			if err := e.set(entry, owner, true); err != nil {
				return nil, err
			}
		}
		for _, entry := range took {
			if slices.ContainsFunc(had, func(h metav1.ManagedFieldsEntry) bool { return rewrite.SameManager(h, entry) }) {
				continue
			}
			if err := e.set(entry, owner, false); err != nil {
				return nil, err
			}
		}
	}
	if !e.changed {
		return nil, nil
	}
	return e.entries, nil
}
