package rewrite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Operation is one line of a JSON Patch.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// SameState are tests that hold a JSON Patch to an object and the state of it that the patch was made from.
func SameState(item metav1.Object) []Operation {
	return []Operation{{"test", "/metadata/uid", item.GetUID()}, {"test", "/metadata/resourceVersion", item.GetResourceVersion()}}
}

// replaceEntries gives an object other managedFields. The API server takes them
// from a JSON Patch as they are, and the changed object is stored again, so this
// is repair and rewrite in one. It is guarded, because the entries are only true
// for the resourceVersion they were read at.
func replaceEntries(item *metav1.PartialObjectMetadata, entries []metav1.ManagedFieldsEntry) (*write, error) {
	ops := []Operation{{"test", "/metadata/resourceVersion", item.ResourceVersion}}
	if onlyVersionsDiffer(item.ManagedFields, entries) {
		for i := range entries {
			if entries[i].APIVersion != item.ManagedFields[i].APIVersion {
				ops = append(ops, Operation{"replace", at(i, "apiVersion"), entries[i].APIVersion})
			}
		}
	} else {
		ops = append(ops, Operation{"add", "/metadata/managedFields", entries})
	}
	return repairOf(ops)
}

// replaceTheseEntries does the same for an object that another client writes all the time. It is guarded by those
// entries alone that it replaces or removes. So the API server may apply it to any later state of the object in which
// they are as they were read. Its body is larger.
func replaceTheseEntries(item *metav1.PartialObjectMetadata, entries []metav1.ManagedFieldsEntry) (*write, error) {
	became, aligned := align(item.ManagedFields, entries)
	if !aligned {
		return replaceEntries(item, entries)
	}
	var tests, changes []Operation
	var made []metav1.ManagedFieldsEntry
	for i := len(became) - 1; i >= 0; i-- { // from the end, since a removal moves what is behind it
		was, is := item.ManagedFields[i], became[i]
		switch {
		case is == nil:
			changes = append(changes, Operation{Op: "remove", Path: at(i)})
		case sameEntry(was, *is):
			continue
		default:
			changes = append(changes, Operation{"replace", at(i), *is})
			made = append(made, *is)
		}
		tests = append(tests, testsOf(i, was)...)
	}
	w, err := repairOf(append(tests, changes...))
	if err == nil {
		w.unwatched = made
	}
	return w, err
}

// Body is a JSON Patch. What HTML gives a meaning to stands in it as it is: escaped it takes six times as much, and the API server
// reads 3 MiB.
func Body(ops []Operation) ([]byte, error) {
	body := &bytes.Buffer{}
	encoder := json.NewEncoder(body)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(ops)
	return body.Bytes(), err
}

func repairOf(ops []Operation) (*write, error) {
	body, err := Body(ops)
	if err != nil {
		return nil, fmt.Errorf("managedFields: %w", err)
	}
	return &write{kind: types.JSONPatchType, body: body, repairs: true}, nil
}

// testsOf hold an entry to what it was, but for its time, which its manager moves
// with every write.
func testsOf(i int, e metav1.ManagedFieldsEntry) []Operation {
	tests := []Operation{
		{"test", at(i, "manager"), e.Manager}, {"test", at(i, "operation"), e.Operation},
		{"test", at(i, "apiVersion"), e.APIVersion}, {"test", at(i, "fieldsV1"), e.FieldsV1},
	}
	if e.Subresource != "" {
		tests = append(tests, Operation{"test", at(i, "subresource"), e.Subresource})
	}
	return tests
}

func at(i int, field ...string) string {
	path := fmt.Sprintf("/metadata/managedFields/%d", i)
	for _, f := range field {
		path += "/" + f
	}
	return path
}

// align reports what became of each entry: itself, another one, or nothing. Both lists have their entries in the same
// order, and the later one no new ones.
func align(before, after []metav1.ManagedFieldsEntry) (became []*metav1.ManagedFieldsEntry, aligned bool) {
	became = make([]*metav1.ManagedFieldsEntry, len(before))
	i := 0
	for k := range after {
		for i < len(before) && !sameWriter(before[i], after[k]) {
			i++
		}
		if i == len(before) {
			return nil, false
		}
		became[i] = &after[k]
		i++
	}
	return became, true
}

// sameWriter reports whether two entries are of one manager, at whatever version.
func sameWriter(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
}

func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return sameWriter(a, b) && a.APIVersion == b.APIVersion && a.FieldsV1.GetRawString() == b.FieldsV1.GetRawString() && a.Time.Equal(b.Time)
}

// forgotten reports whether the API server has forgotten what an entry owned that the write made. It keeps one of two
// entries of the same manager, and the write could not know of one that came meanwhile.
func (p write) forgotten(after *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(p.unwatched, func(made metav1.ManagedFieldsEntry) bool {
		owned, err := DecodeFields(made)
		if err != nil {
			return false
		}
		for _, e := range after.ManagedFields {
			if !SameManager(e, made) {
				continue
			}
			if has, err := DecodeFields(e); err == nil && owned.Difference(has).Empty() {
				return false
			}
		}
		return true
	})
}

// onlyVersionsDiffer reports whether a few words will do in place of the list.
func onlyVersionsDiffer(before, after []metav1.ManagedFieldsEntry) bool {
	return slices.EqualFunc(before, after, func(a, b metav1.ManagedFieldsEntry) bool {
		return a.FieldsV1.GetRawString() == b.FieldsV1.GetRawString() && sameWriter(a, b)
	})
}
