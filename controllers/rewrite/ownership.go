package rewrite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Ownership is how managedFields are kept true when a version goes.
//
// An entry shows at which version its manager wrote last. Once that version has left spec.versions, server-side apply
// on the object fails (kubernetes#111937). Any other write, even an empty one, makes the API server clear all entries
// without an error (structured-merge-diff, UpdateNoErrors). So entries are moved to the storage version while that is
// still possible to do well.
type Ownership struct {
	// Group and StorageVersion are the CRD's.
	Group          string
	StorageVersion string
	// Versions are what spec.versions lists. Entries at any other version of the
	// group are lost already and always moved.
	Versions []string
	// Leaving are versions that are to go; entries at them are moved too.
	Leaving []string
	// Late is when entries at a version are from that stay for now, since they show that somebody still writes.
	Late map[string]Span
	// MayLose are versions of which ownership may be lost, because the CRD allows it.
	MayLose []string
	// Has reports whether the storage version's schema has a path. Fields that it
	// has not cannot be owned at it. Nil means that every path exists.
	Has func(fieldpath.Path) bool
}

// Span is the time between two moments, without these.
type Span struct{ From, To time.Time }

// Around is the time that is less than so long from a moment.
func Around(moment time.Time, d time.Duration) Span { return Span{moment.Add(-d), moment.Add(d)} }

// affects reports whether an entry has to be moved.
func (o Ownership) affects(entry metav1.ManagedFieldsEntry) bool {
	return o.lost(entry) || o.leaving(entry) && !o.stays(entry)
}

// stays reports whether an entry shows a write that is so late that somebody waits for more time to pass. It is the only thing that
// remembers that write for certain. One from far in the future would stay for ever, and is moved.
func (o Ownership) stays(entry metav1.ManagedFieldsEntry) bool {
	version, _ := o.version(entry)
	late := o.Late[version]
	return o.leaving(entry) && entry.Time != nil && entry.Time.After(late.From) && entry.Time.Time.Before(late.To)
}

// lost reports whether an entry is at a version that the CRD no longer lists. Any
// plain write to an object with such an entry makes the API server clear them all.
func (o Ownership) lost(entry metav1.ManagedFieldsEntry) bool {
	version, ours := o.version(entry)
	return ours && version != o.StorageVersion && !slices.Contains(o.Versions, version)
}

// leaving reports whether an entry is at a version that is to go. One that is removed already is lost in any case: it
// cannot be followed, and may not wait.
func (o Ownership) leaving(entry metav1.ManagedFieldsEntry) bool {
	version, ours := o.version(entry)
	return ours && version != o.StorageVersion && slices.Contains(o.Leaving, version) && slices.Contains(o.Versions, version)
}

func (o Ownership) version(entry metav1.ManagedFieldsEntry) (string, bool) {
	group, version, _ := strings.Cut(entry.APIVersion, "/")
	return version, group == o.Group
}

// Move returns the entries with all that are affected at the storage version. They lose the fields it has not, are
// merged with an entry of the same manager that is there already, and dropped if nothing remains. The list is never
// left empty, because the API server would take that for a wish to forget all owners.
func (o Ownership) Move(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	return o.move(entries, nil)
}

// move is Move with entries whose fields at the storage version are known already,
// or that have to stay as they are.
func (o Ownership) move(entries []metav1.ManagedFieldsEntry, known fates) (moved []metav1.ManagedFieldsEntry, err error) {
	for _, entry := range entries {
		fate, judged := known[keyOf(entry)]
		if judged && fate.waits {
			moved = append(moved, entry)
			continue
		}
		if o.affects(entry) {
			if !judged {
				if fate.fields, err = o.owned(entry); err != nil {
					return nil, err
				}
			}
			if fate.fields.Empty() {
				continue
			}
			if entry, err = o.at(entry, fate.fields); err != nil {
				return nil, err
			}
		}
		twin := slices.IndexFunc(moved, func(e metav1.ManagedFieldsEntry) bool {
			return SameManager(e, entry) && !known[keyOf(e)].waits && !o.stays(e)
		})
		if twin < 0 {
			moved = append(moved, entry)
		} else if moved[twin], err = merge(moved[twin], entry); err != nil {
			return nil, err
		}
	}
	if len(moved) == 0 && len(entries) > 0 {
		last := entries[len(entries)-1]
		last.APIVersion, last.FieldsV1 = o.Group+"/"+o.StorageVersion, metav1.NewFieldsV1(ownsNothing)
		moved = append(moved, last)
	}
	return moved, nil
}

// at is an entry at the storage version, where it owns these fields.
func (o Ownership) at(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) (metav1.ManagedFieldsEntry, error) {
	var err error
	entry.APIVersion = o.Group + "/" + o.StorageVersion
	entry.FieldsV1, err = encode(fields)
	return entry, err
}

// ownsNothing are fields that no manager can lose: the API server drops an entry without any.
const ownsNothing = `{"f:metadata":{}}`

// owned are the fields of an entry that exist at the storage version.
func (o Ownership) owned(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	fields, err := DecodeFields(entry)
	if err != nil || o.Has == nil {
		return fields, err
	}
	kept := fieldpath.NewSet()
	fields.Iterate(func(p fieldpath.Path) {
		if o.Has(p) {
			kept.Insert(p)
		}
	})
	return kept, nil
}

// SameManager reports whether the API server takes two entries for one: it keeps
// entries by manager, operation, subresource and, for updates, apiVersion
// (apimachinery/pkg/util/managedfields, BuildManagerIdentifier).
func SameManager(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource &&
		(a.APIVersion == b.APIVersion || a.Operation == metav1.ManagedFieldsOperationApply)
}

// merge unites the fields of two entries and keeps the later time.
func merge(a, b metav1.ManagedFieldsEntry) (metav1.ManagedFieldsEntry, error) {
	fa, err := DecodeFields(a)
	if err != nil {
		return a, err
	}
	fb, err := DecodeFields(b)
	if err != nil {
		return a, err
	}
	merged := a
	if b.Time != nil && (a.Time == nil || a.Time.Before(b.Time)) {
		merged.Time = b.Time
	}
	merged.FieldsV1, err = encode(fa.Union(fb))
	return merged, err
}

// DecodeFields are the fields that an entry owns.
func DecodeFields(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	fields := fieldpath.NewSet()
	if entry.FieldsV1 == nil || entry.FieldsV1.GetRawString() == "" {
		return fields, nil
	}
	if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("managedFields of %s: %w", entry.Manager, err)
	}
	return fields, nil
}

func encode(fields *fieldpath.Set) (*metav1.FieldsV1, error) {
	raw, err := fields.ToJSON()
	if err != nil {
		return nil, err
	}
	return metav1.NewFieldsV1(string(raw)), nil
}
