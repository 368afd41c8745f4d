package rewrite

import (
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// write is one request that stores an object again.
type write struct {
	kind types.PatchType
	body []byte
	// repairs is set when the write changes managedFields.
	repairs bool
}

// emptyPatch changes nothing and so needs no precondition: the API server
// retries it internally, and no writer, however busy, can starve it.
var emptyPatch = write{kind: types.MergePatchType, body: []byte("{}")}

// perhapsRaced tells whether the API server may have refused the write because
// the object has moved on. A merge patch is told so with a conflict. A JSON Patch
// whose test fails is called invalid, as is an object that breaks a rule.
func (p write) perhapsRaced(err error) bool {
	return apierrors.IsConflict(err) || p.kind == types.JSONPatchType && apierrors.IsInvalid(err)
}

// guardedPatch changes nothing either, but is refused with a conflict if
// somebody else has written the object since it was listed.
func guardedPatch(resourceVersion string) *write {
	return &write{kind: types.MergePatchType, body: fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q}}`, resourceVersion)}
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// replaceEntries gives an object other managedFields. The API server takes them
// from a JSON Patch as they are, and the changed object is stored again, so this
// is repair and rewrite in one. It is guarded, because the entries are only true
// for the resourceVersion they were read at.
func replaceEntries(item *metav1.PartialObjectMetadata, entries []metav1.ManagedFieldsEntry) (*write, error) {
	ops := []operation{{"test", "/metadata/resourceVersion", item.ResourceVersion}}
	if onlyVersionsDiffer(item.ManagedFields, entries) {
		for i := range entries {
			if entries[i].APIVersion != item.ManagedFields[i].APIVersion {
				ops = append(ops, operation{"replace", fmt.Sprintf("/metadata/managedFields/%d/apiVersion", i), entries[i].APIVersion})
			}
		}
	} else {
		ops = append(ops, operation{"add", "/metadata/managedFields", entries})
	}
	body, err := json.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("managedFields: %w", err)
	}
	return &write{kind: types.JSONPatchType, body: body, repairs: true}, nil
}

// onlyVersionsDiffer tells whether a few words will do in place of the list.
func onlyVersionsDiffer(before, after []metav1.ManagedFieldsEntry) bool {
	return slices.EqualFunc(before, after, func(a, b metav1.ManagedFieldsEntry) bool {
		return a.FieldsV1.GetRawString() == b.FieldsV1.GetRawString() &&
			a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
	})
}
