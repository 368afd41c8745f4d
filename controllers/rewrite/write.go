package rewrite

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// write is one request that stores an object again.
type write struct {
	kind types.PatchType
	body []byte
	// guarded is set when the write changes nothing, and is refused if another
	// client has written the object since it was read.
	guarded bool
	// repairs is set when the write changes managedFields.
	repairs bool
	// dry is set when nothing is stored.
	dry bool
	// putsBack is set when the write undoes what another one has done, which it does whatever the CRD is by now.
	putsBack bool
	// unwatched are entries that the write makes, which an entry of the same manager
	// that came meanwhile would have the API server forget.
	unwatched []metav1.ManagedFieldsEntry
}

// emptyPatch changes nothing and so needs no precondition: the API server
// retries it internally, and no writer, however busy, can starve it.
var emptyPatch = write{kind: types.MergePatchType, body: []byte("{}")}

// perhapsRaced reports whether the API server may have refused the write because the object has moved on. A merge patch
// is reported so with a conflict. A JSON Patch whose test fails is called invalid, as is an object that breaks a rule.
func (p write) perhapsRaced(err error) bool {
	return apierrors.IsConflict(err) || p.kind == types.JSONPatchType && apierrors.IsInvalid(err)
}

// guardedPatch changes nothing either, but is refused with a conflict if
// somebody else has written the object since it was listed.
func guardedPatch(resourceVersion string) *write {
	return &write{kind: types.MergePatchType, guarded: true, body: fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q}}`, resourceVersion)}
}
