package migration

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/plan"
)

// warnings are the reasons that call for a person.
var warnings = []string{
	v1alpha1.ReasonObjectsFailed, v1alpha1.ReasonConversionUnavailable, v1alpha1.ReasonForbidden,
	v1alpha1.ReasonUnavailable, v1alpha1.ReasonUndone, v1alpha1.ReasonStorageVersionNotServed, v1alpha1.ReasonFieldsWouldBeLost, v1alpha1.EventFieldsDropped, v1alpha1.EventObjectsAltered, v1alpha1.EventOptInRemoved, v1alpha1.EventOptInNotInGit,
	v1alpha1.EventStatusRefused, v1alpha1.OwnershipLost, v1alpha1.ReasonOwnershipWouldBeLost,
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
	r.opts.Recorder.Eventf(regarding, nil, kind, reason, reason, "%s", setup.Note(fmt.Sprintf(format, args...)))
}

// maxLossesTold is how many losses of ownership a walk reports.
const maxLossesTold = 10

// tellOfOwnership says what a walk has found in managedFields. The condition is about
// the bytes and does not tell, and a VersionRemoval names no objects of other
// namespaces than its own.
func (r *Reconciler) tellOfOwnership(crd *apiextensionsv1.CustomResourceDefinition, outcome plan.Outcome, losses []plan.Loss) {
	if outcome.Mode == plan.Surveying && outcome.Failure != nil {
		r.event(crd, outcome.Failure.Reason, "looking for managedFields that name versions which are to go: %s", outcome.Failure.Message)
	}
	for _, l := range losses[:min(len(losses), maxLossesTold)] {
		reason := v1alpha1.OwnershipLost
		if l.Waits {
			reason = v1alpha1.ReasonOwnershipWouldBeLost
		}
		r.event(crd, reason, "field manager %s: %d fields of %d objects that it owned at %s, for example %s of %s: %s", l.Manager, l.Fields, l.Objects, l.Version, l.Field, l.Object, l.Why)
	}
}

// lastWriter says who wrote the CRD's metadata or spec last, as far as
// managedFields tell. A client that removes a label leaves no other trace, and none at
// all if that was all. Times there have a resolution of one second, so it can be
// more than one.
func lastWriter(crd *apiextensionsv1.CustomResourceDefinition) string {
	var managers []string
	last := time.Time{}
	for _, entry := range crd.ManagedFields {
		if entry.Subresource != "" || entry.Time == nil || entry.Time.Time.Before(last) {
			continue
		}
		if entry.Time.Time.After(last) {
			managers, last = nil, entry.Time.Time
		}
		managers = append(managers, fmt.Sprintf("field manager %q (%s)", entry.Manager, entry.Operation))
	}
	if managers == nil {
		return "an unknown field manager"
	}
	return fmt.Sprintf("%s at %s", strings.Join(managers, " or "), last.UTC().Format(time.RFC3339))
}

// flippedBy is who wrote spec.versions last.
func flippedBy(crd *apiextensionsv1.CustomResourceDefinition) string {
	by, last := "an unknown field manager", time.Time{}
	for _, entry := range crd.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && !entry.Time.Time.Before(last) && crds.OwnsField(entry, "spec", "versions") {
			by, last = fmt.Sprintf("field manager %q (%s)", entry.Manager, entry.Operation), entry.Time.Time
		}
	}
	return by
}

// warnOfLabelOrigin says once per change that the opt-in label is on the live
// object only, before a sync takes it off.
func (r *Reconciler) warnOfLabelOrigin(crd *apiextensionsv1.CustomResourceDefinition) {
	v := labelorigin.Of(crd, r.opts.LabelKey)
	if !r.states.tellsLabelOrigin(crd.Name, v) || v.Origin != labelorigin.LiveOnly {
		return
	}
	r.event(crd, v1alpha1.EventOptInNotInGit, "the opt-in label %s is %s; %s", r.opts.LabelKey, v, howToOptIn)
}

const howToOptIn = "put it into the CRD's manifest in Git; `moult doctor` shows more"
