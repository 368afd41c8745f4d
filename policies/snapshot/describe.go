package snapshot

import (
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
)

// DescribeCRD is what is kept of a CRD, apart from its objects and the requests at its versions.
func (s *Snapshot) DescribeCRD(crd *apiextensionsv1.CustomResourceDefinition) CRD {
	d := CRD{
		Name: crd.Name, UID: string(crd.UID), Generation: crd.Generation,
		Deleting:        crd.DeletionTimestamp != nil,
		OptedIn:         crds.OptedIn(crd, s.LabelKey),
		Paused:          crds.Paused(crd),
		RepairsOwners:   crds.RepairsOwners(crd),
		MigratesStashes: crds.MigratesStashes(crd),
		StoredVersions:  slices.Clone(crd.Status.StoredVersions),
		Backup:          new(crds.LastBackupOf(crd)),
	}
	if crd.Spec.Conversion != nil {
		d.Conversion = string(crd.Spec.Conversion.Strategy)
	}
	for _, v := range crd.Spec.Versions {
		d.Versions = append(d.Versions, Version{Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated})
	}
	for _, c := range crd.Status.Conditions {
		if slices.Contains(keptConditions, string(c.Type)) {
			d.Conditions = append(d.Conditions, Condition{
				Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: s.discreet("", c.Reason, c.Message),
				Ours: c.Type == v1alpha1.StorageMigrated && crds.Says(crd.ManagedFields, s.FieldManager, v1alpha1.StorageMigrated),
			})
		}
	}
	if d.OptedIn {
		d.Label = s.describeLabel(crd)
	}
	return d
}

// keptConditions are those that a verdict may depend on.
var keptConditions = []string{
	string(apiextensionsv1.Established), string(apiextensionsv1.NamesAccepted),
	v1alpha1.StorageMigrated, v1alpha1.StorageMigrating, v1alpha1.VersionsRemovable,
}

// keptLabels are the beginnings of labels that delivery tools leave.
var keptLabels = []string{"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"}

func (s *Snapshot) describeLabel(crd *apiextensionsv1.CustomResourceDefinition) *Label {
	d := &Label{Labels: map[string]string{s.LabelKey: crd.Labels[s.LabelKey]}, Annotations: labelorigin.Annotations(crd.Annotations, s.LabelKey)}
	for key, value := range crd.Labels {
		if slices.ContainsFunc(keptLabels, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			d.Labels[key] = value
		}
	}
	for _, entry := range crd.ManagedFields {
		if !labelorigin.Needs(entry, s.LabelKey) {
			continue
		}
		d.Managers = append(d.Managers, Manager{
			Name: entry.Manager, Operation: string(entry.Operation), Subresource: entry.Subresource, Time: entry.Time,
			OwnsLabel:       crds.OwnsField(entry, "metadata", "labels", s.LabelKey),
			OwnsLastApplied: crds.OwnsField(entry, "metadata", "annotations", lastApplied),
		})
	}
	return d
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// metadata is the part of the CRD's metadata that shows who owns the opt-in label.
func (c *CRD) metadata(labelKey string) *metav1.ObjectMeta {
	m := &metav1.ObjectMeta{Name: c.Name}
	if c.Label == nil {
		return m
	}
	m.Labels, m.Annotations = c.Label.Labels, c.Label.Annotations
	for _, manager := range c.Label.Managers {
		owned := fieldpath.NewSet()
		if manager.OwnsLabel {
			owned.Insert(fieldpath.MakePathOrDie("metadata", "labels", labelKey))
		}
		if manager.OwnsLastApplied {
			owned.Insert(fieldpath.MakePathOrDie("metadata", "annotations", lastApplied))
		}
		entry := metav1.ManagedFieldsEntry{
			Manager: manager.Name, Operation: metav1.ManagedFieldsOperationType(manager.Operation), Subresource: manager.Subresource, Time: manager.Time,
		}
		if raw, err := owned.ToJSON(); err == nil {
			entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
		}
		m.ManagedFields = append(m.ManagedFields, entry)
	}
	return m
}

// DescribeRemoval is what is kept of a VersionRemoval.
func (s *Snapshot) DescribeRemoval(removal *v1alpha1.VersionRemoval) Removal {
	status := removal.Status
	d := Removal{
		Namespace: removal.Namespace, Name: removal.Name, Generation: removal.Generation, Spec: *removal.Spec.DeepCopy(),
		Paused:             crds.Paused(removal),
		ObservedGeneration: status.ObservedGeneration, Proof: status.Proof.DeepCopy(),
	}
	if at := status.LastWriteAt; at != nil {
		d.LastWriteAt = new(at.UTC().Truncate(time.Second))
	}
	if c := meta.FindStatusCondition(status.Conditions, "Ready"); c != nil {
		d.Ready = &Condition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: s.discreet(removal.Spec.CRDName+": ", c.Reason, c.Message)}
	}
	for _, b := range status.Blockers {
		if failure, ok := nameAndReason(b.Message); ok && b.Kind == v1alpha1.ReasonObjectsFailed && !s.NamesLeftOut {
			d.Failures = append(d.Failures, failure)
		}
	}
	return d
}

// plainReasons are those whose messages Moult has written word for word. Other messages pass on what the API server or a
// webhook has said about an object or a user, with values of fields in it, perhaps.
var plainReasons = []string{
	v1alpha1.ReasonMigrated, v1alpha1.ReasonMigrating, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying,
	v1alpha1.ReasonPaused, v1alpha1.ReasonStorageVersionNotServed, v1alpha1.ReasonNotEstablished, v1alpha1.ReasonStandingBack,
	v1alpha1.ReasonAggregatedAPIServer, v1alpha1.ReasonUndone,
	v1alpha1.ReasonNothingStored, v1alpha1.ReasonAlreadyRemoved, v1alpha1.ReasonSafeToRemove, v1alpha1.ReasonIntermediateRevisionRequired,
	v1alpha1.ReasonNotOptedIn, v1alpha1.ReasonOutOfScope, v1alpha1.ReasonRepairingOwnership, v1alpha1.ReasonStillServed, v1alpha1.ReasonStillWritten,
	v1alpha1.ReasonStillReferenced, v1alpha1.ReasonStillStashed, v1alpha1.ReasonReferencesUnknown, v1alpha1.ReasonNotBackedUp,
}

// serverSaid is where a message about a missing permission begins to quote.
const serverSaid = "; the API server said"

// discreet is a condition's message without what somebody else than Moult has said. Opening is how a VersionRemoval's
// message begins; that of a CRD's condition begins with the generation.
func (*Snapshot) discreet(opening, reason, message string) string {
	if slices.Contains(plainReasons, reason) {
		return message
	}
	if opening == "" {
		if generation, _, ok := strings.Cut(message, ": "); ok && strings.HasPrefix(generation, "generation ") {
			opening = generation + ": "
		}
	}
	sentence, ok := strings.CutPrefix(message, opening)
	if !ok {
		opening = ""
	}
	if before, _, quoted := strings.Cut(sentence, serverSaid); quoted {
		return opening + before
	}
	before, _, _ := strings.Cut(sentence, ": ")
	return opening + before
}

// nameAndReason is the beginning of what is said of a failed object: "namespace/name: Reason".
func nameAndReason(failure string) (string, bool) {
	parts := strings.SplitN(failure, ": ", 3)
	if len(parts) < 3 {
		return "", false
	}
	return parts[0] + ": " + parts[1], true
}
