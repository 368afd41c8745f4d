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

// owned is an entry of managedFields with what it owns, decoded once: an object may refer to thousands of owners.
type owned struct {
	metav1.ManagedFieldsEntry

	fields *fieldpath.Set
	lost   *fieldpath.Set // of those; nil if it loses nothing
	gained bool
}

func decode(entries []metav1.ManagedFieldsEntry) (all []owned, err error) {
	for i := range entries {
		fields, err := rewrite.DecodeFields(entries[i])
		if err != nil {
			return nil, err
		}
		all = append(all, owned{ManagedFieldsEntry: entries[i], fields: fields})
	}
	return all, nil
}

// find is the place of the entry of the same manager, -1 if there is none.
func find(all []owned, of owned) int {
	return slices.IndexFunc(all, func(o owned) bool { return rewrite.SameManager(o.ManagedFieldsEntry, of.ManagedFieldsEntry) })
}

// writers are the managers that own references, by the owner that each refers to.
func writers(entries []metav1.ManagedFieldsEntry, owners []types.UID) map[types.UID][]string {
	names := map[types.UID][]string{}
	for i := range entries {
		fields, err := rewrite.DecodeFields(entries[i])
		if err != nil {
			continue
		}
		for _, owner := range owners {
			if owns(fields, owner) && !slices.Contains(names[owner], entries[i].Manager) {
				names[owner] = append(names[owner], entries[i].Manager)
			}
		}
	}
	return names
}

// takers are the entries that own one of the references, and did not before.
func takers(before, after []owned, moved []types.UID) (took []owned) {
	for _, now := range after {
		had := fieldpath.NewSet()
		if k := find(before, now); k >= 0 {
			had = before[k].fields
		}
		if slices.ContainsFunc(moved, func(owner types.UID) bool { return owns(now.fields, owner) && !owns(had, owner) }) {
			took = append(took, now)
		}
	}
	return took
}

// restored are the entries of an object as they are now, with each moved reference owned by those that owned it before,
// and not by those that have taken it. One without an owner stays with those, and one that somebody has written since
// is theirs. It is nil if nothing has to change.
func restored(before, now, took []owned, moved []types.UID) ([]metav1.ManagedFieldsEntry, error) {
	e := edited(slices.Clone(now))
	for _, owner := range moved {
		had := slices.DeleteFunc(slices.Clone(before), func(o owned) bool { return !owns(o.fields, owner) })
		if len(had) == 0 || !slices.ContainsFunc(now, func(o owned) bool { return owns(o.fields, owner) && find(took, o) >= 0 }) {
			continue
		}
		for _, entry := range had {
			e.give(entry, owner)
		}
		for _, entry := range took {
			if find(had, entry) < 0 {
				e.take(entry, owner)
			}
		}
	}
	return e.entries()
}

// edited are the entries of an object on their way to other owners of references.
type edited []owned

// give has the writer of an entry own the reference to an owner.
func (e *edited) give(to owned, owner types.UID) {
	i := find(*e, to)
	if i < 0 {
		to.fields, i = fieldpath.NewSet(), len(*e)
		*e = append(*e, to)
	}
	if of := &(*e)[i]; !owns(of.fields, owner) {
		of.fields.Insert(field(owner))
		of.gained = true
	}
}

// take has the writer of an entry not own it.
func (e *edited) take(from owned, owner types.UID) {
	if i := find(*e, from); i >= 0 && owns((*e)[i].fields, owner) {
		if (*e)[i].lost == nil {
			(*e)[i].lost = fieldpath.NewSet()
		}
		(*e)[i].lost.Insert(field(owner))
	}
}

// entries are nil if none has changed.
func (e *edited) entries() (all []metav1.ManagedFieldsEntry, err error) {
	changed := false
	for _, o := range *e {
		if !o.gained && o.lost == nil {
			all = append(all, o.ManagedFieldsEntry)
			continue
		}
		changed = true
		if o.lost != nil {
			o.fields = o.fields.RecursiveDifference(o.lost)
		}
		raw, err := o.fields.ToJSON()
		if err != nil {
			return nil, err
		}
		if o.FieldsV1 = metav1.NewFieldsV1(string(raw)); !o.fields.Empty() {
			all = append(all, o.ManagedFieldsEntry)
		}
	}
	if !changed {
		return nil, nil
	}
	return all, nil
}
