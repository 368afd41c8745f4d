package migration

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/plan"
	"github.com/moult-dev/moult/controllers/rewrite"
)

// startWalk walks over all objects in the background.
func (r *Reconciler) startWalk(name string, crd *apiextensionsv1.CustomResourceDefinition, o plan.Observation, mode plan.Mode) {
	walk := r.newWalk(crd, o, mode)
	walk.Turn, walk.WrittenAfter = r.walks.turn, r.states.lookedThrough(name, o.Subject)
	job := func(ctx context.Context) (plan.Outcome, error) {
		started := r.opts.Clock.Now()
		result, err := r.walk(ctx, crd, walk)
		if ctx.Err() != nil {
			return plan.Outcome{}, ctx.Err()
		}
		r.metrics.walked(name, mode, result, r.opts.Clock.Since(started))
		outcome := plan.Outcome{
			Mode: mode, Counts: countsOf(result), ListedRV: result.ListedRV, Failure: failureOf(crd, result, err),
			Leaving: o.Removal.Versions, Started: started, Waiting: waitingOf(result), MayLose: o.MayLose,
			Altered: r.alteredBy(ctx, crd, result),
		}
		r.states.noteWalk(name, o.Subject, outcome, result)
		r.tellOfOwnership(crd, outcome, lossesOf(result))
		return outcome, nil
	}
	r.walks.start(name, &walking{subject: o.Subject, mode: mode, walk: walk}, job, func(outcome plan.Outcome) {
		r.states.update(name, o.Subject, func(e plan.Evidence) plan.Evidence {
			return e.After(outcome, r.opts.Clock.Now(), r.opts.Settle)
		})
	})
}

// walk carries a walk out, once it is known that it can work at all. What it has
// seen counts only if it was the API server itself that answered.
func (r *Reconciler) walk(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, walk *rewrite.Walk) (rewrite.Result, error) {
	storageVersion := walk.Ownership.StorageVersion
	routes, err := r.routes(ctx, crd, storageVersion)
	if err != nil {
		return rewrite.Result{}, err
	}
	if err := r.probe(ctx, crd, storageVersion); err != nil {
		return rewrite.Result{}, err
	}
	result, err := walk.Run(ctx)
	if err != nil {
		return result, err
	}
	if err := r.stillOn(ctx, routes, crd, storageVersion); err != nil {
		return rewrite.Result{}, err
	}
	return result, nil
}

// schema reads a version's schema from the API server, since the cache holds
// none.
func (r *Reconciler) schema(ctx context.Context, name, version string) (*apiextensionsv1.JSONSchemaProps, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := r.live.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", name, err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == version && v.Schema != nil {
			return v.Schema.OpenAPIV3Schema, nil
		}
	}
	return nil, nil
}

func (r *Reconciler) newWalk(crd *apiextensionsv1.CustomResourceDefinition, o plan.Observation, mode plan.Mode) *rewrite.Walk {
	var otherwise []rewrite.Objects
	for _, version := range servedBeside(crd, o.StorageVersion) {
		otherwise = append(otherwise, r.objects.Resource(resourceOf(crd).WithVersion(version)))
	}
	gvr := resourceOf(crd).WithVersion(o.StorageVersion)
	walk := &rewrite.Walk{
		Objects: r.objects.Resource(gvr), Otherwise: otherwise,
		Mode: modes[mode], ProvedAfter: o.Evidence.WindowEndRV,
		Ownership: rewrite.Ownership{
			Group: crd.Spec.Group, StorageVersion: o.StorageVersion, Versions: versionsOf(crd), Leaving: o.Removal.Versions,
			MayLose: o.MayLose,
		},
		Schema: func(ctx context.Context) (*apiextensionsv1.JSONSchemaProps, error) {
			return r.schema(ctx, crd.Name, o.StorageVersion)
		},
		Workers: r.opts.MaxInFlight, PageSize: r.opts.PageSize, Lane: r.pace.Lane(), Clock: r.opts.Clock,
	}
	if converts(crd) {
		walk.Follower = func(ctx context.Context) (rewrite.Follower, error) { return r.follower(ctx, crd.Name) }
	}
	if hasStatus(crd, o.StorageVersion) {
		walk.Status = r.objects.Status(gvr)
	}
	return walk
}

// hasStatus tells whether a version has the status subresource.
func hasStatus(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Subresources != nil && v.Subresources.Status != nil
	})
}

var modes = map[plan.Mode]rewrite.Mode{
	plan.Rewriting: rewrite.Rewrite, plan.Checking: rewrite.Check, plan.Surveying: rewrite.Survey,
}

func failedObjectsOf(t rewrite.Result) []plan.FailedObject {
	named := make([]plan.FailedObject, len(t.FailedObjects))
	for i, f := range t.FailedObjects {
		named[i] = plan.FailedObject{Namespace: f.Namespace, Reason: f.Reason, Text: shorten(f.String(), maxFailureText)}
	}
	return named
}

func textsOf(failures []plan.FailedObject) []string {
	texts := make([]string, len(failures))
	for i, f := range failures {
		texts[i] = f.Text
	}
	return texts
}

// probe finds out whether a CRD with a conversion webhook can be converted.
func (r *Reconciler) probe(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, storageVersion string) error {
	if !converts(crd) {
		return nil
	}
	return r.objects.Probe(ctx, resourceOf(crd), append([]string{storageVersion}, servedBeside(crd, storageVersion)...))
}

// servedBeside are the served versions other than the given one.
func servedBeside(crd *apiextensionsv1.CustomResourceDefinition, version string) (others []string) {
	for _, v := range crd.Spec.Versions {
		if v.Served && v.Name != version {
			others = append(others, v.Name)
		}
	}
	return others
}

func resourceOf(crd *apiextensionsv1.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
}

func versionsOf(crd *apiextensionsv1.CustomResourceDefinition) []string {
	names := make([]string, len(crd.Spec.Versions))
	for i, v := range crd.Spec.Versions {
		names[i] = v.Name
	}
	return names
}
