package rewrite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// patch is one write.
type patch struct {
	kind types.PatchType
	body []byte
}

// lostRace tells whether the API server refused the patch because the object
// has moved on. A merge patch says so with a conflict, a JSON Patch whose test
// fails is called invalid.
func (p patch) lostRace(err error) bool {
	return p.kind == types.JSONPatchType && apierrors.IsInvalid(err)
}

// emptyPatch changes nothing and so needs no precondition: the API server
// retries it internally, and no writer, however busy, can starve it.
var emptyPatch = patch{types.MergePatchType, []byte("{}")}

// writeFor is the cheapest write that brings an object to the storage version
// and loses nothing, given how many races for the object were lost before.
func (w *Walk) writeFor(item *metav1.PartialObjectMetadata, races int) patch {
	if lost := w.entriesAtLostVersions(item); len(lost) > 0 {
		return w.repair(item, lost)
	}
	if w.Check && races <= maxRaces {
		return guardedPatch(item.ResourceVersion)
	}
	return emptyPatch
}

// guardedPatch changes nothing either, but is refused with a conflict if
// somebody else has written the object since it was listed.
func guardedPatch(resourceVersion string) patch {
	return patch{types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q}}`, resourceVersion)}
}

// entriesAtLostVersions are the indexes of managedFields entries whose version
// the CRD does not list any more. A plain write to such an object makes the API
// server clear all its managedFields without an error (kubernetes#111937;
// structured-merge-diff UpdateNoErrors), so ownership would be lost.
func (w *Walk) entriesAtLostVersions(item *metav1.PartialObjectMetadata) (lost []int) {
	for i, entry := range item.ManagedFields {
		group, version, _ := strings.Cut(entry.APIVersion, "/")
		if group == w.Group && !slices.Contains(w.Versions, version) {
			lost = append(lost, i)
		}
	}
	return lost
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value"`
}

// repair moves the given managedFields entries to the storage version. It
// changes the object, so it is its own rewrite, and it is guarded by the
// resourceVersion because the indexes are only true for that one.
func (w *Walk) repair(item *metav1.PartialObjectMetadata, lost []int) patch {
	ops := []operation{{"test", "/metadata/resourceVersion", item.ResourceVersion}}
	for _, i := range lost {
		ops = append(ops, operation{"replace", fmt.Sprintf("/metadata/managedFields/%d/apiVersion", i), w.Group + "/" + w.StorageVersion})
	}
	body, err := json.Marshal(ops)
	if err != nil {
		panic(fmt.Sprintf("rewrite: strings always marshal: %v", err))
	}
	return patch{types.JSONPatchType, body}
}
