package labelorigin

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/words"
)

const (
	// mostOfEntry is how long an entry of a CRD's managedFields may be that is decoded, in bytes. Schemas are in one field.
	mostOfEntry = 256 << 10
	// mostEntries is how many are kept.
	mostEntries = 64
	// mostOfAnnotation is how much is kept of an annotation, in characters.
	mostOfAnnotation = 1024
)

// Needs reports whether an entry of managedFields is needed for a verdict.
func Needs(entry metav1.ManagedFieldsEntry, labelKey string) bool {
	return toolNamed(entry.Manager) != NoTool || crds.OwnsField(entry, "metadata", "labels", labelKey) ||
		crds.OwnsField(entry, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
}

// Entries are what is needed of managedFields for a verdict, and to see who holds the versions and some conditions. A tool owns each label
// that it has applied. Who forges many entries, or long ones, owns nothing by the rest.
func Entries(entries []metav1.ManagedFieldsEntry, labelKey string, conditions ...string) (kept []metav1.ManagedFieldsEntry) {
	needed := fieldpath.NewSet(
		fieldpath.MakePathOrDie("metadata", "labels", labelKey), fieldpath.MakePathOrDie("metadata", "annotations", corev1.LastAppliedConfigAnnotation),
		fieldpath.MakePathOrDie("spec", "versions"), fieldpath.MakePathOrDie("status", "storedVersions"))
	for _, where := range []string{"labels", "annotations"} {
		needed.Insert(fieldpath.MakePathOrDie("metadata", where, fluxApply))
	}
	for _, condition := range conditions {
		at := []any{"status", "conditions", fieldpath.KeyByFields("type", condition)}
		needed.Insert(fieldpath.MakePathOrDie(at...))
		for _, field := range []string{"type", "status", "reason", "message", "lastTransitionTime", "observedGeneration"} {
			needed.Insert(fieldpath.MakePathOrDie(append(at, field)...))
		}
	}
	for _, entry := range entries {
		fields := fieldpath.NewSet()
		if len(kept) == mostEntries {
			break
		}
		if entry.FieldsV1 != nil && len(entry.FieldsV1.GetRawString()) <= mostOfEntry && fields.FromJSON(entry.FieldsV1.GetRawReader()) == nil {
			fields = fields.Intersection(needed)
		}
		raw, err := fields.ToJSON()
		if err != nil || fields.Empty() && toolNamed(entry.Manager) == NoTool {
			continue
		}
		entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
		kept = append(kept, entry)
	}
	return kept
}

// Annotations are those that are needed for a verdict. The one of the last client-side apply holds a whole CRD; of it
// the opt-in label is left.
func Annotations(annotations map[string]string, labelKey string) map[string]string {
	kept := map[string]string{}
	for _, key := range []string{argoCDTracking, argoCDOptions, helmRelease, helmNamespace, fluxApply, fluxReconcile} {
		if value, ok := annotations[key]; ok {
			kept[key] = words.Clip(value, mostOfAnnotation)
		}
	}
	if value, ok := lastApplied(annotations)[labelKey]; ok {
		rest, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{labelKey: value}}})
		if err == nil {
			kept[corev1.LastAppliedConfigAnnotation] = string(rest)
		}
	}
	return kept
}

// Labels are those that are needed for a verdict. A CRD may have a hundred thousand others.
func Labels(labels map[string]string, labelKey string) map[string]string {
	kept := map[string]string{}
	for _, key := range []string{labelKey, fluxGroup + "/name", fluxGroup + "/namespace", helmGroup + "/name", helmGroup + "/namespace", fluxApply, fluxReconcile} {
		if value, ok := labels[key]; ok {
			kept[key] = value
		}
	}
	return kept
}
