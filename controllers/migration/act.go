package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/plan"
)

// act carries out a decision. It returns a failure for what a person has to
// fix and an error for what another try may fix.
func (r *Reconciler) act(ctx context.Context, name string, crd *apiextensionsv1.CustomResourceDefinition, o plan.Observation, d plan.Decision) (*plan.Failure, error) {
	if d.Step != plan.Follow {
		if stopped := r.walks.stop(name); stopped != nil {
			r.sawWriters(stopped, stopped.walk.Result()) // the next walk may end before its last request does
		}
	}
	switch d.Step {
	case plan.Forget:
		r.forget(name)
		r.states.gone(name)
	case plan.Withdraw:
		return nil, r.withdraw(ctx, crd)
	case plan.Rewrite:
		r.startWalk(crd, o, plan.Rewriting)
	case plan.Check:
		r.startWalk(crd, o, plan.Checking)
	case plan.Survey:
		r.startWalk(crd, o, plan.Surveying)
	case plan.Trim:
		return r.trim(ctx, crd, o)
	case plan.Leave, plan.Hold, plan.Wait, plan.Follow, plan.Rest:
	}
	return nil, nil
}

func (r *Reconciler) forget(name string) (labelOwner string, known bool) {
	r.metrics.forget(name)
	return r.states.forget(name)
}

// withdraw takes our condition back from a CRD whose opt-in label was removed.
func (r *Reconciler) withdraw(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	owner, known := r.forget(crd.Name)
	if !known { // found by chance, or withdrawn a moment ago and still in the cache
		live := &apiextensionsv1.CustomResourceDefinition{}
		if err := r.live.Get(ctx, types.NamespacedName{Name: crd.Name}, live); err != nil {
			return client.IgnoreNotFound(err)
		}
		crd = live
	}
	written := condition(crd) != nil && r.applied(crd.ManagedFields)
	if written {
		if err := r.applyCondition(ctx, crd, nil); err != nil {
			return err
		}
	}
	again := ""
	if known && r.unlabelledBy(crd, lastWriter(crd), r.opts.Clock.Now()) {
		again = ". That was the second time within an hour; Moult does not set it itself"
	}
	if known || written {
		r.event(crd, v1alpha1.EventOptInRemoved,
			"the opt-in label %s was removed. It was set by %s, and the last write that managedFields record was by %s; a client that removed only the label may have left no trace. Nothing is migrated any more and the condition %s is withdrawn; put the label back in Git to go on%s",
			r.opts.LabelKey, owner, lastWriter(crd), v1alpha1.StorageMigrated, again)
	}
	return nil
}

// trim sets storedVersions to the storage version alone, and gives the CRD in hand
// the resourceVersion that it has from then on. The patch names UID
// and resourceVersion, so it succeeds only on the very CRD that was observed:
// same generation, same storage version, still opted in, not paused. It is
// never a server-side apply, which would make later applies drop the field.
func (r *Reconciler) trim(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, o plan.Observation) (*plan.Failure, error) {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": crd.UID, "resourceVersion": crd.ResourceVersion},
		"status":   map[string]any{"storedVersions": []string{o.StorageVersion}},
	})
	if err != nil {
		return nil, err
	}
	if _, err := r.routes(ctx, crd, o.StorageVersion); err != nil {
		return failureOf(crd, rewrite.Result{}, err), ctx.Err()
	}
	if err := r.mayClaim(ctx); err != nil {
		return nil, err
	}
	trimmed := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name}} // whole: what was kept counts
	err = r.live.Status().Patch(ctx, trimmed, client.RawPatch(types.MergePatchType, body), client.FieldOwner(r.opts.FieldManager))
	if failure := statusFailure(err); failure != nil {
		return failure, nil
	}
	if err != nil {
		return nil, err
	}
	if kept := trimmed.Status.StoredVersions; !slices.Equal(kept, []string{o.StorageVersion}) {
		return failure(v1alpha1.ReasonForbidden, fmt.Sprintf("storedVersions was written as [%s] and kept as %v; look for an admission policy or webhook that changes the status of the CRD, and let Moult pass", o.StorageVersion, kept), ""), nil
	}
	crd.ResourceVersion = trimmed.ResourceVersion
	r.states.wrote(crd.Name, trimmed.ResourceVersion)
	r.metrics.proved(crd.Name, r.states.age(crd.Name, o.Now))
	r.event(crd, v1alpha1.EventTrimmed, "storedVersions trimmed from %v to [%s]: every object is proved to be stored at %s",
		o.StoredVersions, o.StorageVersion, o.StorageVersion)
	return nil, nil
}

// mayClaim is an error if what this process knows may be from before a restore of etcd.
func (r *Reconciler) mayClaim(ctx context.Context) error {
	if r.opts.Timeline == nil {
		return nil
	}
	return r.opts.Timeline.Check(ctx)
}
