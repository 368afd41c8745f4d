package migration

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// maxNote is the longest note the API server takes in an Event, in bytes
// (k8s.io/kubernetes pkg/apis/core/validation, NoteLengthLimit).
const maxNote = 1024

// warnings are the reasons that call for a person.
var warnings = []string{
	v1alpha1.ReasonObjectsFailed, v1alpha1.ReasonConversionUnavailable, v1alpha1.ReasonForbidden,
	v1alpha1.ReasonUnavailable, v1alpha1.ReasonStorageVersionNotServed, v1alpha1.EventOptInRemoved,
}

// event records an Event on a CRD. Events of cluster-scoped objects are found in
// the namespace default.
func (r *Reconciler) event(crd *apiextensionsv1.CustomResourceDefinition, reason, format string, args ...any) {
	if r.opts.Recorder == nil {
		return
	}
	kind := corev1.EventTypeNormal
	if slices.Contains(warnings, reason) {
		kind = corev1.EventTypeWarning
	}
	regarding := crd.DeepCopy()
	regarding.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	r.opts.Recorder.Eventf(regarding, nil, kind, reason, reason, "%s", shorten(fmt.Sprintf(format, args...), maxNote-len("…")))
}

// lastWriter says who wrote the CRD's metadata or spec last, as far as
// managedFields tell. Whoever removed a label left no trace but this.
func lastWriter(crd *apiextensionsv1.CustomResourceDefinition) string {
	manager, at := "", time.Time{}
	for _, entry := range crd.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && !entry.Time.Time.Before(at) {
			manager, at = fmt.Sprintf("field manager %q, operation %s", entry.Manager, entry.Operation), entry.Time.Time
		}
	}
	if manager == "" {
		return "field manager unknown"
	}
	return fmt.Sprintf("last written by %s, at %s", manager, at.UTC().Format(time.RFC3339))
}
