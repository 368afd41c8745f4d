package removal

import (
	"bytes"
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	applyv1 "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// withdrawal is a request about a CRD that no VersionRemoval names: those have a
// namespace, and it has none.
func withdrawal(crd string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Name: crd}}
}

// withdraw takes back what a CRD says is safe to remove although no
// VersionRemoval says so: the last one was deleted while no controller ran, or
// somebody else has written it. An admission policy believes what stands there.
func (r *Reconciler) withdraw(ctx context.Context, name string) error {
	removals := &v1alpha1.VersionRemovalList{} // as they are: another Moult may have answered one that is not in the cache yet
	if err := r.fresh.List(ctx, removals); err != nil {
		return err
	}
	if slices.ContainsFunc(removals.Items, func(removal v1alpha1.VersionRemoval) bool { return removal.Spec.CRDName == name }) {
		return nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := r.whole.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
		return client.IgnoreNotFound(err)
	}
	if crd.Labels[r.opts.LabelKey] != v1alpha1.MigrateLabelValue || !saysApproved(crd) {
		return nil
	}
	return r.applyApproval(ctx, crd, nil)
}

// saysApproved tells whether a CRD has the condition, by whomever.
func saysApproved(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == v1alpha1.VersionsRemovable && c.Status == apiextensionsv1.ConditionTrue
	})
}

// denial says in the place of somebody else's condition that nothing is safe.
func (r *Reconciler) denial(crd *apiextensionsv1.CustomResourceDefinition) *applyv1.CustomResourceDefinitionStatusApplyConfiguration {
	return applyv1.CustomResourceDefinitionStatus().WithConditions(applyv1.CustomResourceDefinitionCondition().
		WithType(v1alpha1.VersionsRemovable).WithStatus(apiextensionsv1.ConditionFalse).WithReason(v1alpha1.VersionsNotFoundSafe).
		WithMessage(v1alpha1.Message(crd.Generation, "no VersionRemoval has found a version safe to remove")).
		WithLastTransitionTime(metav1.NewTime(r.opts.Clock.Now())))
}

// namesApproval tells by the field managers, which is all that is known of a CRD
// in the cache, whether its status may have the condition. Without any, it may.
func namesApproval(entries []metav1.ManagedFieldsEntry) bool {
	return len(entries) == 0 || slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(v1alpha1.VersionsRemovable))
	})
}

// mayBeApproved reads what namesOnly has kept.
func mayBeApproved(crd *metav1.PartialObjectMetadata) bool {
	_, marked := crd.Annotations[v1alpha1.VersionsRemovable]
	return marked
}
