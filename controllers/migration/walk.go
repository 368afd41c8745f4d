package migration

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/controllers/plan"
	"github.com/moult-dev/moult/controllers/rewrite"
)

// startWalk walks over all objects in the background.
func (r *Reconciler) startWalk(name string, crd *apiextensionsv1.CustomResourceDefinition, o plan.Observation, mode plan.Mode) {
	walk := r.newWalk(crd, o, mode)
	job := func(ctx context.Context) (plan.Outcome, error) {
		started := r.opts.Clock.Now()
		err := r.probe(ctx, crd, o.StorageVersion)
		if err == nil {
			_, err = walk.Run(ctx)
		}
		if ctx.Err() != nil {
			return plan.Outcome{}, ctx.Err()
		}
		tally := walk.Tally()
		r.metrics.walked(name, mode, tally, r.opts.Clock.Since(started))
		return plan.Outcome{
			Mode: mode, Counts: countsOf(tally), ListedRV: tally.ListedRV, Trouble: troubleOf(crd, tally, err),
		}, nil
	}
	r.walks.start(name, &walking{subject: o.Subject, mode: mode, walk: walk}, job, func(outcome plan.Outcome) {
		r.ledger.update(name, o.Subject, func(e plan.Evidence) plan.Evidence {
			return e.After(outcome, r.opts.Clock.Now(), r.opts.Settle)
		})
	})
}

func (r *Reconciler) newWalk(crd *apiextensionsv1.CustomResourceDefinition, o plan.Observation, mode plan.Mode) *rewrite.Walk {
	var otherwise []rewrite.Objects
	for _, version := range servedBeside(crd, o.StorageVersion) {
		otherwise = append(otherwise, r.objects.Resource(resourceOf(crd).WithVersion(version)))
	}
	return &rewrite.Walk{
		Objects: r.objects.Resource(resourceOf(crd).WithVersion(o.StorageVersion)), Otherwise: otherwise,
		Group: crd.Spec.Group, StorageVersion: o.StorageVersion, Versions: versionsOf(crd),
		Check: mode == plan.Checking, ProvedAfter: o.Evidence.WindowEndRV,
		Workers: r.opts.MaxInFlight, PageSize: r.opts.PageSize, Budget: r.budget, Clock: r.opts.Clock,
	}
}

// probe finds out whether a CRD with a conversion webhook can be converted.
func (r *Reconciler) probe(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, storageVersion string) error {
	if c := crd.Spec.Conversion; c == nil || c.Strategy != apiextensionsv1.WebhookConverter {
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
