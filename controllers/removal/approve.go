package removal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	applyv1 "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal/verdict"
)

// approve writes on the CRD which versions are safe to remove, before the gate
// opens. An admission policy sees the CRD and nothing else, so this is where it
// can compare a removal with what has been found safe.
//
// The condition lists the versions of this VersionRemoval and of all others of
// the CRD that are Ready for its present generation. Should two change it at the
// same moment, the later one is woken by the other's write and mends it.
func (r *Reconciler) approve(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, asker types.NamespacedName, asked []string, v verdict.Verdict) error {
	if crd == nil {
		return nil
	}
	safe := map[string]bool{}
	if v.State == verdict.Ready && v.Proof != nil {
		add(safe, asked)
	}
	if err := r.othersApprove(ctx, crd, asker, safe); err != nil {
		return err
	}
	var listed []string
	for _, version := range crd.Spec.Versions {
		if safe[version.Name] {
			listed = append(listed, version.Name)
		}
	}
	slices.Sort(listed)
	before := approval(crd)
	if len(listed) == 0 && !saysApproved(crd) || before == approvalMessage(crd, listed) {
		return nil
	}
	return r.applyApproval(ctx, crd, listed)
}

// othersApprove adds what the other VersionRemovals of a CRD have found safe.
func (r *Reconciler) othersApprove(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, asker types.NamespacedName, safe map[string]bool) error {
	others := &v1alpha1.VersionRemovalList{}
	if err := r.client.List(ctx, others, client.MatchingFields{crdNameIndex: crd.Name}); err != nil {
		return err
	}
	for i := range others.Items {
		other := &others.Items[i]
		proof := other.Status.Proof
		answered := len(r.opts.Namespaces) == 0 || slices.Contains(r.opts.Namespaces, other.Namespace)
		if client.ObjectKeyFromObject(other) == asker || !answered || proof == nil ||
			proof.UID != string(crd.UID) || proof.Generation != crd.Generation ||
			other.Status.ObservedGeneration != other.Generation || !conditions.IsTrue(other, meta.ReadyCondition) {
			continue
		}
		add(safe, other.Spec.Versions)
	}
	return nil
}

func add(set map[string]bool, names []string) {
	for _, name := range names {
		set[name] = true
	}
}

// disapprove takes back what a VersionRemoval that is gone had found safe.
func (r *Reconciler) disapprove(ctx context.Context, name string, asker types.NamespacedName) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := r.whole.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
		return client.IgnoreNotFound(err)
	}
	return r.approve(ctx, crd, asker, nil, verdict.Verdict{})
}

// approval is the message of the condition on the CRD, empty if there is none.
func approval(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, c := range crd.Status.Conditions {
		if c.Type == v1alpha1.VersionsRemovable {
			return c.Message
		}
	}
	return ""
}

func approvalMessage(crd *apiextensionsv1.CustomResourceDefinition, versions []string) string {
	return v1alpha1.Message(crd.Generation, strings.Join(versions, ", "))
}

// applyApproval applies the condition under a field manager of its own, so that
// it and the migration's condition do not disturb one another.
func (r *Reconciler) applyApproval(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, versions []string) error {
	status := applyv1.CustomResourceDefinitionStatus()
	if len(versions) > 0 {
		status = status.WithConditions(applyv1.CustomResourceDefinitionCondition().
			WithType(v1alpha1.VersionsRemovable).WithStatus(apiextensionsv1.ConditionTrue).WithReason(v1alpha1.ReasonSafeToRemove).
			WithMessage(approvalMessage(crd, versions)).WithLastTransitionTime(metav1.NewTime(r.opts.Clock.Now())))
	}
	after, err := r.applyStatus(ctx, crd, status)
	if err == nil && len(versions) == 0 && saysApproved(after) {
		_, err = r.applyStatus(ctx, crd, r.denial(crd)) // somebody else has written it, so it does not go with ours
	}
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("writing condition %s on %s: %w", v1alpha1.VersionsRemovable, crd.Name, err)
	}
	return nil
}

func (r *Reconciler) applyStatus(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, status *applyv1.CustomResourceDefinitionStatusApplyConfiguration) (*apiextensionsv1.CustomResourceDefinition, error) {
	body, err := json.Marshal(applyv1.CustomResourceDefinition(crd.Name).WithUID(crd.UID).WithStatus(status))
	if err != nil {
		return nil, err
	}
	target := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name}}
	return target, r.status.Patch(ctx, target, client.RawPatch(types.ApplyPatchType, body), client.FieldOwner(v1alpha1.FieldManagerOf(v1alpha1.RemovalFieldManager, r.opts.LabelKey)), client.ForceOwnership)
}
