package owners

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// operation is one line of a JSON Patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// sameState holds a patch to the object and the state of it that it was made from.
func sameState(item *metav1.PartialObjectMetadata) []operation {
	return []operation{{"test", "/metadata/uid", item.UID}, {"test", "/metadata/resourceVersion", item.ResourceVersion}}
}

// move is a patch that moves references, each only if it is in its place as it was read.
func move(item *metav1.PartialObjectMetadata, found []match) ([]byte, error) {
	ops := sameState(item)
	for _, m := range found {
		at := fmt.Sprintf("/metadata/ownerReferences/%d/", m.index)
		ops = append(ops, operation{"test", at + "apiVersion", m.APIVersion}, operation{"test", at + "kind", m.Kind},
			operation{"test", at + "name", m.Name}, operation{"test", at + "uid", m.UID})
	}
	for _, m := range found {
		ops = append(ops, operation{"replace", fmt.Sprintf("/metadata/ownerReferences/%d/apiVersion", m.index), m.target.apiVersion()})
	}
	return json.Marshal(ops)
}

// restoreOwnership is a patch that gives an object other managedFields.
func restoreOwnership(item *metav1.PartialObjectMetadata, entries []metav1.ManagedFieldsEntry) ([]byte, error) {
	return json.Marshal(append(sameState(item), operation{"replace", "/metadata/managedFields", entries}))
}
