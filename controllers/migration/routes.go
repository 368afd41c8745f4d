package migration

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// walkFailure is the error of a walk that must not begin, or whose outcome does not
// count.
type walkFailure struct{ failure plan.Failure }

func (t *walkFailure) Error() string { return t.failure.Message }

// routes makes sure that the API server itself answers for every served version
// of a CRD. An aggregated API server in its place does not have the CRD's
// objects: a walk would meet none of them and prove nothing. The error is the
// context's or a *walkFailure.
func (r *Reconciler) routes(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, storageVersion string) ([]rewrite.Route, error) {
	versions := append([]string{storageVersion}, crds.ServedBeside(crd, storageVersion)...)
	found, err := r.objects.Routes(ctx, crd.Spec.Group, versions...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &walkFailure{routesFailure(err)}
	}
	if i := slices.IndexFunc(found, rewrite.Route.Aggregated); i >= 0 {
		return nil, &walkFailure{aggregatedFailure(crd.Name, found[i])}
	}
	return found, nil
}

// stillOn makes sure that no other server has answered during a walk: the API server itself answers, and no APIService
// was written since the walk began. One that is new is the API server's own, of a CRD or a version that is new.
func (r *Reconciler) stillOn(ctx context.Context, before []rewrite.Route, crd *apiextensionsv1.CustomResourceDefinition, storageVersion string) error {
	after, err := r.routes(ctx, crd, storageVersion)
	if err != nil {
		return err
	}
	for i, route := range after {
		if was := before[i]; was.Revision != "" && was != route {
			return &walkFailure{plan.Failure{Reason: v1alpha1.ReasonAggregatedAPIServer, Message: fmt.Sprintf(
				"APIService %s was changed while the objects were walked over, so an aggregated API server may have answered for them; trying again after the settle time", route.APIService)}}
		}
	}
	return nil
}

// unchanged makes sure that a CRD is as it was when the walk began, and allows as much. Its cache may be behind: what was found out under
// another spec, or one that was there for a moment, says nothing of what a write does now. What is no longer allowed is not written.
func (r *Reconciler) unchanged(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	now := setup.MetadataOf(crd.Name)
	err := rewrite.Retry{Clock: r.opts.Clock}.Do(ctx, func() error { return r.live.Get(ctx, types.NamespacedName{Name: crd.Name}, now) })
	switch {
	case err != nil:
	case now.UID != crd.UID || now.Generation != crd.Generation:
		err = fmt.Errorf("the CRD was changed since the walk began at generation %d; it has generation %d", crd.Generation, now.Generation)
	default:
		err = takenBack(r.allowed(crd), r.allowed(now))
	}
	if err != nil {
		return &rewrite.Stopped{Cause: rewrite.Unavailable, Err: err}
	}
	return nil
}

// allowed is what a CRD lets Moult do with its objects. To change it makes no other generation.
func (r *Reconciler) allowed(crd metav1.Object) (all []string) {
	if crds.OptedIn(crd, r.opts.LabelKey) {
		all = append(all, "label "+r.opts.LabelKey)
	}
	if !crds.Paused(crd) {
		all = append(all, "no annotation "+v1alpha1.PausedAnnotation)
	}
	for _, version := range mayLose(crd.GetAnnotations()) {
		all = append(all, fmt.Sprintf("annotation %s: %s", v1alpha1.AllowOwnershipLossAnnotation, version))
	}
	for _, field := range mayDrop(crd.GetAnnotations()) {
		all = append(all, fmt.Sprintf("annotation %s: %s", v1alpha1.AllowFieldLossAnnotation, field))
	}
	return all
}

func takenBack(then, now []string) error {
	less := slices.DeleteFunc(then, func(one string) bool { return slices.Contains(now, one) })
	if len(less) == 0 {
		return nil
	}
	return fmt.Errorf("the CRD allows less than when the walk began; it had %s", words.Few(less, maxFieldsTold))
}

func aggregatedFailure(crd string, route rewrite.Route) plan.Failure {
	return plan.Failure{Reason: v1alpha1.ReasonAggregatedAPIServer, Message: fmt.Sprintf(
		"APIService %s hands the requests for this version on to the aggregated API server behind Service %s, which hides the objects stored under the CRD. Delete the APIService, and the API server answers by itself again. Or take the opt-in label off the CRD %s if the aggregated API server is to stay",
		route.APIService, route.Service, crd)}
}

func routesFailure(err error) plan.Failure {
	if rewrite.IsForbidden(err) {
		return *forbiddenFailure(err, "apiregistration.k8s.io", "apiservices", "get")
	}
	return plan.Failure{Reason: v1alpha1.ReasonUnavailable, Message: fmt.Sprintf(
		"it is not known whether the API server itself answers for the objects; trying again with growing pauses: %v", err)}
}
