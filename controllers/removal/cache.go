package removal

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
)

// What is kept of the objects in caches: their number is somebody else's, and so is
// their size.

// namesOnly drops everything from a CRD's metadata but its identity, and whether it
// may be approved.
func namesOnly(in any) (any, error) {
	if o, ok := in.(*metav1.PartialObjectMetadata); ok {
		var mark map[string]string
		if namesApproval(o.ManagedFields) {
			mark = map[string]string{v1alpha1.VersionsRemovable: ""}
		}
		o.ObjectMeta = metav1.ObjectMeta{Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, Annotations: mark}
	}
	return in, nil
}

// namesApproval tells by the field managers, which is all that is known of a CRD
// in the cache, whether its status may have the condition. Without any, it may.
func namesApproval(entries []metav1.ManagedFieldsEntry) bool {
	return len(entries) == 0 || slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return crds.Owns(e, v1alpha1.VersionsRemovable)
	})
}

// mayBeApproved reads what namesOnly has kept.
func mayBeApproved(crd *metav1.PartialObjectMetadata) bool {
	_, marked := crd.Annotations[v1alpha1.VersionsRemovable]
	return marked
}
