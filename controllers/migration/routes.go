package migration

import (
	"context"
	"fmt"
	"slices"
	"time"

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

// route is who answers for one version, and since when this process sees it so.
type route struct {
	rewrite.Route
	since time.Time
}

// routed is since when the API server itself is seen to answer for a CRD that is looked after; zero if it does not, or if that is not
// known. It is not asked anew while a walk is under way, which asks itself, nor of a CRD that is proved.
func (r *Reconciler) routed(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (since time.Time) {
	if crd.DeletionTimestamp != nil || !crds.OptedIn(crd, r.opts.LabelKey) || !crds.InScope(crd, r.opts.Groups) {
		return since
	}
	if since, proved := r.states.routedFor(crd.Name, plan.SubjectOf(crd)); !since.IsZero() && (proved || r.walks.state(crd.Name) != nil) {
		return since
	}
	latest, err := r.routes(ctx, crd, crds.StorageVersion(crd))
	if err != nil {
		return since
	}
	return latest.since
}

// routes makes sure that the API server itself answers for every served version
// of a CRD with the CRD's objects, and returns what has changed last of how it does. An aggregated API server in its place does not have
// them: a walk would meet none of them and prove nothing. The error is the context's or a *walkFailure.
func (r *Reconciler) routes(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, storageVersion string) (latest route, err error) {
	versions := append([]string{storageVersion}, crds.ServedBeside(crd, storageVersion)...)
	found, err := r.objects.Routes(ctx, crd.Spec.Group, versions...)
	if ctx.Err() != nil {
		return latest, ctx.Err()
	}
	if err != nil {
		return latest, &walkFailure{routesFailure(err)}
	}
	latest = r.states.sawRoutes(crd.Name, found, r.opts.Clock.Now())
	if i := slices.IndexFunc(found, rewrite.Route.Aggregated); i >= 0 {
		return latest, &walkFailure{aggregatedFailure(crd.Name, found[i])}
	}
	return latest, r.notBuiltIn(ctx, crd, versions)
}

// notBuiltIn makes sure that no resource of the API server itself has the name of a CRD. A walk would meet the objects of that one.
func (r *Reconciler) notBuiltIn(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, versions []string) error {
	for _, version := range versions {
		is, err := r.objects.BuiltIn(ctx, resourceOf(crd).WithVersion(version))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case rewrite.IsForbidden(err):
			return &walkFailure{*forbiddenFailure(err, crd.Spec.Group, crd.Spec.Names.Plural, "list")}
		case err != nil:
			return &walkFailure{routesFailure(err)}
		case is:
			return &walkFailure{plan.Failure{Reason: v1alpha1.ReasonNotEstablished, Message: fmt.Sprintf(
				"the API server answers for %s at %s with a built-in resource of that name, which hides the objects stored under the CRD. Take the opt-in label off the CRD, and delete the CRD if no one needs these objects, which only etcd shows",
				crd.Name, version)}}
		}
	}
	return nil
}

// settledRoutes makes sure that no other server can answer a walk that begins now. An API server that lags may hand requests on for a
// while after the APIService has changed.
func (r *Reconciler) settledRoutes(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, storageVersion string) (route, error) {
	latest, err := r.routes(ctx, crd, storageVersion)
	if err == nil && r.opts.Clock.Since(latest.since) < r.opts.Settle {
		err = changedRoute(latest)
	}
	return latest, err
}

// stillOn makes sure that no other server has answered during a walk: the API server itself answers, and no APIService
// was written since the walk began.
func (r *Reconciler) stillOn(ctx context.Context, before route, crd *apiextensionsv1.CustomResourceDefinition, storageVersion string) error {
	after, err := r.routes(ctx, crd, storageVersion)
	if err == nil && !after.since.Equal(before.since) {
		err = changedRoute(after)
	}
	return err
}

func changedRoute(to route) error {
	return &walkFailure{plan.Failure{Reason: v1alpha1.ReasonAggregatedAPIServer, Message: fmt.Sprintf(
		"APIService %s was changed a moment ago, so an aggregated API server may answer for the objects; trying again after the settle time", to.APIService)}}
}

// sawRoutes notes who answers for a CRD, and returns what has changed last. An APIService that is new is the API server's own, of a CRD or a
// version that is new.
func (s *StateStore) sawRoutes(crd string, found []rewrite.Route, now time.Time) (latest route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.routes[crd]
	seen := map[string]route{}
	for _, is := range found {
		was, before := known[is.APIService]
		if !before || was.Aggregated() || was.Revision != "" && was.Route != is {
			was.since = now
		}
		seen[is.APIService] = route{is, was.since}
		if !was.since.Before(latest.since) {
			latest = seen[is.APIService]
		}
	}
	s.routes[crd] = seen
	return latest
}

// routedFor is since when a CRD's routes are as they were seen last, and whether it is proved as it is.
func (s *StateStore) routedFor(crd string, subject plan.Subject) (since time.Time, proved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, is := range s.routes[crd] {
		if is.since.After(since) {
			since = is.since
		}
	}
	known := s.states[crd]
	return since, known != nil && known.evidence.Proved && known.evidence.Subject == subject
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
		return rewrite.StoppedBy(err)
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
