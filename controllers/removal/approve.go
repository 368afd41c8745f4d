package removal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	applyv1 "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/verdict"
)

// aboutCRD is a request about what a CRD says is safe to remove. Those about
// VersionRemovals have a namespace, and it has none.
func aboutCRD(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// approve notes the answer to a VersionRemoval and brings the CRD up to date with it. An admission policy sees the CRD and nothing else. So a
// gate does not open before the policy lets the removal pass. It closes first, since a write of the CRD may take long. An answer that is as before changes nothing about the
// CRD, so it costs the same however many there are.
func (r *Reconciler) approve(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, removal *v1alpha1.VersionRemoval, v verdict.Verdict) error {
	if crd == nil || !r.states.answered(removal, v.Proof) {
		return nil
	}
	change, err := r.approval(ctx, crd)
	if err == nil && change != nil {
		err = r.syncApproval(ctx, crd.Name)
	}
	if err != nil {
		r.states.forgetAnswer(removal) // or the next try would find it noted
	}
	return err
}

// errBusy: another worker writes the condition of the CRD, which may take as long as a webhook does. One that waited would answer nothing else.
var errBusy = errors.New("the condition of the CRD is being written")

// busyRetry is when that is tried again.
const busyRetry = 100 * time.Millisecond

// syncApproval makes a CRD say which versions are safe to remove, and nothing else.
// All that may change it ends here: answers, a VersionRemoval that comes, goes or asks
// for something else, and a CRD that changes.
func (r *Reconciler) syncApproval(ctx context.Context, name string) error {
	if _, busy := r.approving.LoadOrStore(name, true); busy {
		return errBusy
	}
	defer r.approving.Delete(name)
	defer func() {
		if len(r.waiting(ctx, name)) == 0 {
			r.crds.Drop(name) // it was read for them
		}
	}()
	crd, err := r.crds.GetNow(ctx, name)
	if isGone(err, name) {
		return nil
	}
	if err != nil {
		return err
	}
	change, err := r.approval(ctx, crd)
	if err == nil && change != nil {
		err = r.applyApproval(ctx, crd, *change)
	}
	return err
}

// change is what is to be done about the condition: say it of these versions. If
// there are none, take it back, or contradict it where it would stay, because
// somebody else has written it.
type change struct {
	versions   []string
	contradict bool
}

// approval compares what a CRD says with what the VersionRemovals do; nil if there
// is nothing to do. A CRD without the label loses what is ours and is not written
// to beside that; one of another Moult is left alone.
func (r *Reconciler) approval(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (*change, error) {
	switch {
	case !crds.InScope(crd, r.opts.Groups):
		return nil, nil
	case !crds.OptedIn(crd, r.opts.LabelKey):
		if crds.HasApplied(crd.ManagedFields, r.approver(), v1alpha1.VersionsRemovable) {
			return &change{}, nil
		}
		return nil, nil
	}
	ballots, err := r.ballots(ctx, crd)
	if err != nil {
		return nil, err
	}
	before := said(crd, r.approver())
	versions := agreement(crds.Versions(crd), ballots, before)
	if slices.Equal(versions, before) && (len(versions) > 0 || deniesAll(crd)) {
		return nil, nil
	}
	return &change{versions: versions, contradict: !crds.GoesWith(crd.ManagedFields, r.approver(), v1alpha1.VersionsRemovable)}, nil
}

// deniesAll reports whether a CRD says of no version that it may be removed: without
// the condition, or with one that is False.
func deniesAll(crd *apiextensionsv1.CustomResourceDefinition) bool {
	c := apihelpers.FindCRDCondition(crd, v1alpha1.VersionsRemovable)
	return c == nil || c.Status == apiextensionsv1.ConditionFalse
}

// ballots are the votes of the VersionRemovals that name a CRD and count.
func (r *Reconciler) ballots(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) ([]ballot, error) {
	list := &v1alpha1.VersionRemovalList{} // there may be thousands, so they are not copied, and nothing here changes them
	if err := r.client.List(ctx, list, client.MatchingFields{crdNameIndex: crd.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the VersionRemovals of %s: %w", crd.Name, err)
	}
	var ballots []ballot
	for i := range list.Items {
		if removal := &list.Items[i]; r.counts(removal, crd) {
			ballots = append(ballots, ballot{versions: removal.Spec.Versions, vote: r.vote(removal, crd)})
		}
	}
	return ballots, nil
}

// counts reports whether a VersionRemoval has a say in what a CRD calls removable. Not
// each namespace has one, or a tenant could forbid the platform to remove a version,
// by a VersionRemoval that is paused or wants what never happens.
func (r *Reconciler) counts(removal *v1alpha1.VersionRemoval, crd *apiextensionsv1.CustomResourceDefinition) bool {
	if namespaces, chosen := crds.GateNamespaces(crd); chosen {
		return slices.Contains(namespaces, removal.Namespace)
	}
	return r.answersIn(removal.Namespace)
}

func (r *Reconciler) vote(removal *v1alpha1.VersionRemoval, crd *apiextensionsv1.CustomResourceDefinition) vote {
	told := removal.Status.ObservedGeneration == removal.Generation
	says := told && conditions.IsTrue(removal, meta.ReadyCondition) && isFor(removal.Status.Proof, crd)
	answer := r.states.answerTo(removal)
	switch {
	case crds.Paused(removal):
		return objects
	case answer != nil && isFor(answer.proof, crd):
		return agrees
	case answer == nil && says:
		return agreed
	default:
		return objects
	}
}

// approver is the field manager of the condition, one of its own, so that it and the
// migration's condition do not disturb one another.
func (r *Reconciler) approver() string {
	return v1alpha1.FieldManagerOf(v1alpha1.RemovalFieldManager, r.opts.LabelKey)
}

// applyApproval writes the condition, or takes it back.
func (r *Reconciler) applyApproval(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, change change) error {
	status := applyv1.CustomResourceDefinitionStatus()
	switch {
	case len(change.versions) > 0:
		status.WithConditions(r.condition(crd, apiextensionsv1.ConditionTrue, v1alpha1.ReasonSafeToRemove, strings.Join(change.versions, ", ")))
	case change.contradict:
		status.WithConditions(r.condition(crd, apiextensionsv1.ConditionFalse, v1alpha1.VersionsNotFoundSafe, "no VersionRemoval has found a version safe to remove"))
	}
	body, err := json.Marshal(applyv1.CustomResourceDefinition(crd.Name).WithUID(crd.UID).WithStatus(status))
	if err != nil {
		return err
	}
	err = r.status.Patch(ctx, setup.MetadataOf(crd.Name), client.RawPatch(types.ApplyPatchType, body), client.FieldOwner(r.approver()), client.ForceOwnership)
	if err != nil && !isGone(err, crd.Name) {
		return fmt.Errorf("writing condition %s on %s: %w", v1alpha1.VersionsRemovable, crd.Name, err)
	}
	return nil
}

func (r *Reconciler) condition(crd *apiextensionsv1.CustomResourceDefinition, status apiextensionsv1.ConditionStatus, reason, sentence string) *applyv1.CustomResourceDefinitionConditionApplyConfiguration {
	return applyv1.CustomResourceDefinitionCondition().
		WithType(v1alpha1.VersionsRemovable).WithStatus(status).WithReason(reason).WithMessage(v1alpha1.Message(crd.Generation, sentence)).
		WithLastTransitionTime(metav1.NewTime(r.opts.Clock.Now()))
}
