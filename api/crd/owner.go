package crd

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Says reports whether a condition says what a field manager has applied: the manager
// owns its status, its reason and its message. Only then may the condition be
// believed. When another manager changes one of them, the API server takes that field
// from the first one and leaves it the rest, the item's key among them.
func Says(entries []metav1.ManagedFieldsEntry, manager, conditionType string) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return applied(e, manager) && owns(e, conditionType, "status", "reason", "message")
	})
}

// HasApplied reports whether a field manager has applied a condition and holds any part of
// it still. That part goes away when the manager applies a status without the condition.
func HasApplied(entries []metav1.ManagedFieldsEntry, manager, conditionType string) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return applied(e, manager) && Owns(e, conditionType)
	})
}

// GoesWith reports whether a condition goes away when a field manager applies a status without it: the manager has
// applied it, and no other manager holds any part of it.
func GoesWith(entries []metav1.ManagedFieldsEntry, manager, conditionType string) bool {
	return HasApplied(entries, manager, conditionType) && !slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return !applied(e, manager) && Owns(e, conditionType)
	})
}

// Owns reports whether an entry holds any part of a condition.
func Owns(entry metav1.ManagedFieldsEntry, conditionType string) bool {
	item := itemOf(entry, conditionType)
	return item != nil && (item.itself || !item.fields.Empty())
}

func applied(entry metav1.ManagedFieldsEntry, manager string) bool {
	return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "status"
}

func owns(entry metav1.ManagedFieldsEntry, conditionType string, fields ...string) bool {
	item := itemOf(entry, conditionType)
	return item != nil && !slices.ContainsFunc(fields, func(field string) bool {
		return !item.fields.Has(fieldpath.MakePathOrDie(field))
	})
}

// item is what an entry holds of one condition: the item of the list itself, and fields in it.
type item struct {
	itself bool
	fields *fieldpath.Set
}

// itemOf is nil if the entry cannot be read.
func itemOf(entry metav1.ManagedFieldsEntry, conditionType string) *item {
	all := fieldsOf(entry)
	if all == nil {
		return nil
	}
	path := fieldpath.MakePathOrDie("status", "conditions", fieldpath.KeyByFields("type", conditionType))
	found := &item{itself: all.Has(path), fields: all}
	for _, element := range path {
		found.fields = found.fields.WithPrefix(element)
	}
	return found
}

// OwnsField reports whether an entry owns a field, for example metadata, labels and the
// key of a label.
func OwnsField(entry metav1.ManagedFieldsEntry, path ...any) bool {
	fields := fieldsOf(entry)
	return fields != nil && fields.Has(fieldpath.MakePathOrDie(path...))
}

// fieldsOf is nil if the entry cannot be read.
func fieldsOf(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	fields := fieldpath.NewSet()
	if entry.FieldsV1 == nil || fields.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
		return nil
	}
	return fields
}

// StoredVersionsBy is the field manager that wrote status.storedVersions last, empty if managedFields do not say. The API
// server itself, which adds a new storage version to the list, leaves no entry.
func StoredVersionsBy(entries []metav1.ManagedFieldsEntry) (manager string) {
	var last *metav1.Time
	for _, e := range entries {
		if OwnsField(e, "status", "storedVersions") && !e.Time.Before(last) {
			manager, last = e.Manager, e.Time
		}
	}
	return manager
}
