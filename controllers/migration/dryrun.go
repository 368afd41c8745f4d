package migration

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/plan"
)

// Trial reports what Run would meet, and writes nothing: every object is sent its write as a dry run, so that admission
// and validation are asked about it. The CRD needs no opt-in label: who asks has not decided yet.
func Trial(ctx context.Context, cfg *rest.Config, crd string, opts Options) (rewrite.Result, error) {
	r, err := standalone(cfg, opts)
	if err != nil {
		return rewrite.Result{}, err
	}
	defer r.walks.stopAll()
	r.objects = r.objects.DryRun()
	found, err := r.read(ctx, crd)
	if err != nil {
		return rewrite.Result{}, err
	}
	if found == nil {
		return rewrite.Result{}, fmt.Errorf("%s: %w", crd, ErrNotFound)
	}
	o := r.describe(found)
	o.Evidence = plan.Evidence{Subject: o.Subject}
	o.OptedIn = true
	if d := plan.Decide(o); d.Step != plan.Rewrite && d.Step != plan.Check {
		_, err := r.over(crd, found, d)
		return rewrite.Result{}, err
	}
	return r.try(ctx, found, o)
}

func (r *Reconciler) try(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, o plan.Observation) (rewrite.Result, error) {
	result, err := r.walk(ctx, crd, r.newWalk(crd, o, plan.Rewriting))
	if t := failureOf(crd, result, err); t != nil {
		return result, &Blocked{CRD: crd.Name, Reason: t.Reason, Sentence: t.Message}
	}
	return result, err
}
