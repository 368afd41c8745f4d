package removal

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/verdict"
)

// progressStep is the least progress worth a write, in percent.
const progressStep = 10

// isNews reports whether the answer is another one than the status has.
func (e evaluation) isNews() bool {
	return !equality.Semantic.DeepEqual(e.before.Status, e.removal.Status) && !onlyCountsMoved(e.before, e.removal)
}

// report writes the verdict into the status, if it is a new one, and returns
// whether the gate has just opened. It is the only writer of the status. The error is
// a conflict if the VersionRemoval is no longer what was looked at: it may be another
// one of the same name, which asks for other versions.
func (r *Reconciler) report(ctx context.Context, e evaluation) (opened bool, err error) {
	if !e.isNews() {
		return false, nil
	}
	answer := client.MergeFromWithOptions(e.before, client.MergeFromWithOptimisticLock{})
	if conditions.IsReady(e.before) && e.verdict.State != verdict.Ready {
		if answer, err = closing(e.removal); err != nil {
			return false, err
		}
	}
	if err := r.client.Status().Patch(ctx, e.removal, answer, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return false, fmt.Errorf("writing the status of %s/%s: %w", e.removal.Namespace, e.removal.Name, err)
	}
	r.tell(ctx, e.before, e.removal, e.verdict)
	return e.verdict.State == verdict.Ready && !conditions.IsReady(e.before), nil
}

// closing closes a gate whatever else is written to it at the same time, as long as it is the same one.
func closing(removal *v1alpha1.VersionRemoval) (client.Patch, error) {
	body, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": removal.UID}, {"op": "add", "path": "/status", "value": removal.Status},
	})
	return client.RawPatch(types.JSONPatchType, body), err
}

// fill puts a verdict into the status.
func fill(removal *v1alpha1.VersionRemoval, s verdict.Situation, v verdict.Verdict) {
	status := &removal.Status
	status.ObservedGeneration = removal.Generation
	status.Blockers, status.Warnings, status.Proof = v.Blockers, v.Warnings, v.Proof
	status.StoredAt = v.StoredAt
	status.StoredVersions, status.Progress = nil, nil
	if s.CRD != nil {
		status.StoredVersions = first(s.CRD.StoredVersions, maxStoredVersions)
	}
	if p := v.Progress; p != nil {
		status.Progress = &v1alpha1.ProgressStatus{Total: p.Total, Done: p.Done, Failed: p.Failed, Summary: summary(*p)}
	}
	if !v.LastWrite.IsZero() {
		at := metav1.NewTime(v.LastWrite.Truncate(time.Second))
		status.LastWriteAt = &at
	}
	if at, asked := meta.ReconcileAnnotationValue(removal.Annotations); asked && v.Answered {
		status.LastHandledReconcileAt = at
	}
	mark(removal, v)
	slimStatus(status)
}

// summary is the column PROGRESS, for example "400/1000" or "40/40, 3 failed".
func summary(p v1alpha1.Progress) string {
	s := fmt.Sprintf("%d/%d", p.Done-p.Failed, p.Total)
	if p.Failed > 0 {
		s += fmt.Sprintf(", %d failed", p.Failed)
	}
	return s
}

// mark sets the conditions in kstatus' sense. They carry no counts, since those
// who watch them would be woken by each.
func mark(removal *v1alpha1.VersionRemoval, v verdict.Verdict) {
	switch v.State {
	case verdict.Ready:
		conditions.Delete(removal, meta.ReconcilingCondition)
		conditions.Delete(removal, meta.StalledCondition)
		conditions.MarkTrue(removal, meta.ReadyCondition, v.Reason, "%s", v.Message)
	case verdict.Progressing:
		conditions.MarkFalse(removal, meta.ReadyCondition, v.Reason, "%s", v.Message)
		conditions.MarkReconciling(removal, v.Reason, "%s", v.Message)
		conditions.Delete(removal, meta.StalledCondition)
	case verdict.Stalled:
		conditions.MarkFalse(removal, meta.ReadyCondition, v.Reason, "%s", v.Message)
		conditions.MarkStalled(removal, v.Reason, "%s", v.Message)
		conditions.Delete(removal, meta.ReconcilingCondition)
	}
	for i := range removal.Status.Conditions {
		removal.Status.Conditions[i].ObservedGeneration = removal.Generation
	}
}

// onlyCountsMoved reports whether a status differs in its counts alone, and by too little to be worth a write.
func onlyCountsMoved(before, after *v1alpha1.VersionRemoval) bool {
	was, is := before.Status.Progress, after.Status.Progress
	if was == nil || is == nil || conditions.IsReady(after) || was.Total != is.Total || was.Failed != is.Failed {
		return false
	}
	if 100*(is.Done-was.Done) >= progressStep*max(is.Total, 1) {
		return false
	}
	same := after.Status.DeepCopy()
	same.Progress = was
	for i, c := range same.Conditions {
		if old := conditions.Get(before, c.Type); old != nil && old.Reason == c.Reason && old.Status == c.Status {
			same.Conditions[i] = *old
		}
	}
	return equality.Semantic.DeepEqual(before.Status, *same)
}

// tell records an Event when the reason is a new one.
func (r *Reconciler) tell(ctx context.Context, before, after *v1alpha1.VersionRemoval, v verdict.Verdict) {
	if conditions.GetReason(before, meta.ReadyCondition) == v.Reason {
		return
	}
	ctrl.LoggerFrom(ctx).Info(v.Message, "crd", after.Spec.CRDName, "versions", after.Spec.Versions, "state", v.State, "reason", v.Reason)
	kind := corev1.EventTypeNormal
	if v.State == verdict.Stalled || len(v.Blockers) > 0 {
		kind = corev1.EventTypeWarning
	}
	r.opts.Recorder.Event(after, kind, v.Reason, v.Message)
}
