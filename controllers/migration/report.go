package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	applyv1 "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/plan"
)

const (
	// progressInterval is the shortest time between two writes of a condition
	// that differ in their counts only.
	progressInterval = 10 * time.Second
	// progressStep is the least progress worth such a write, in percent.
	progressStep = 10
)

// report says what was decided: in the condition, in an Event when the reason
// is a new one, and in the metrics. It is the only writer of the condition and
// writes only what has changed.
func (r *Reconciler) report(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, o plan.Observation, d plan.Decision) error {
	if d.Reason == "" {
		return nil
	}
	r.metrics.observed(crd.Name, o, d)
	r.warnOfLabelOrigin(crd)
	defer r.states.publish(crd.Name, o, d) // after the condition is written
	before, after := condition(crd), r.conditionFor(crd, d)
	if before != nil && !r.worthWriting(crd.Name, o.Now, *before, after) {
		return nil
	}
	if before != nil && before.Status == after.Status {
		after.LastTransitionTime = before.LastTransitionTime
	}
	if err := r.applyCondition(ctx, crd, &after); err != nil {
		if failure := statusFailure(err); failure != nil {
			r.event(crd, v1alpha1.EventStatusRefused, "%s", failure.Message)
		}
		return err
	}
	if fresh := r.states.tellsReason(crd.Name, after.Reason, after.Message, o.Now); fresh && (before == nil || before.Reason != after.Reason) {
		ctrl.LoggerFrom(ctx).Info(d.Sentence, "crd", crd.Name, "generation", o.Generation, "reason", d.Reason)
		r.event(crd, d.Reason, "%s", d.Sentence)
	}
	return nil
}

func (r *Reconciler) conditionFor(crd *apiextensionsv1.CustomResourceDefinition, d plan.Decision) apiextensionsv1.CustomResourceDefinitionCondition {
	status := apiextensionsv1.ConditionFalse
	if d.Reason == v1alpha1.ReasonMigrated {
		status = apiextensionsv1.ConditionTrue
	}
	return apiextensionsv1.CustomResourceDefinitionCondition{
		Type: v1alpha1.StorageMigrated, Status: status, Reason: d.Reason,
		Message:            v1alpha1.Message(crd.Generation, d.Sentence),
		LastTransitionTime: metav1.NewTime(r.opts.Clock.Now()),
	}
}

// worthWriting reports whether a condition has changed enough. Counts alone are reported in steps, so that those who
// watch CRDs are left in peace.
func (r *Reconciler) worthWriting(name string, now time.Time, before, after apiextensionsv1.CustomResourceDefinitionCondition) bool {
	if before.Status != after.Status || before.Reason != after.Reason {
		return !r.states.isEcho(name, after.Reason, now)
	}
	if before.Message == after.Message || r.states.isEchoOf(name, after.Message, now) {
		return false
	}
	was, counted := v1alpha1.ParseProgress(before.Message)
	is, counts := v1alpha1.ParseProgress(after.Message)
	underWay := after.Reason == v1alpha1.ReasonMigrating || after.Reason == v1alpha1.ReasonVerifying
	if !counted || !counts || !underWay {
		return true
	}
	if further := is.Percent() - was.Percent(); was.Total == is.Total && further >= 0 && further < progressStep {
		return false
	}
	return r.states.tellsProgress(name, now)
}

// applyCondition makes c our condition on the CRD; nil takes it back. It is applied server-side, so other conditions
// and storedVersions, which we do not own this way, stay as they are. It has no observedGeneration: API servers before
// 1.35 refuse an apply that names this field, and the message has the generation. A claim is about the very CRD that
// was observed, as a trim is: it must not land on an older one that was restored meanwhile.
func (r *Reconciler) applyCondition(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, c *apiextensionsv1.CustomResourceDefinitionCondition) error {
	status := applyv1.CustomResourceDefinitionStatus()
	if c != nil {
		condition := applyv1.CustomResourceDefinitionCondition().
			WithType(c.Type).WithStatus(c.Status).WithReason(c.Reason).WithMessage(c.Message).
			WithLastTransitionTime(c.LastTransitionTime)
		status = status.WithConditions(condition)
	}
	applied := applyv1.CustomResourceDefinition(crd.Name).WithUID(crd.UID).WithStatus(status)
	if c != nil && c.Status == apiextensionsv1.ConditionTrue {
		if err := r.mayClaim(ctx); err != nil {
			return err
		}
		applied = applied.WithResourceVersion(crd.ResourceVersion)
	}
	body, err := json.Marshal(applied)
	if err != nil {
		return err
	}
	written := setup.MetadataOf(crd.Name)
	err = r.live.Status().Patch(ctx, written, client.RawPatch(types.ApplyPatchType, body),
		client.FieldOwner(r.opts.FieldManager), client.ForceOwnership)
	if err == nil {
		r.states.wrote(crd.Name, written.ResourceVersion)
	}
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("writing condition %s: %w", v1alpha1.StorageMigrated, err)
	}
	return nil
}
