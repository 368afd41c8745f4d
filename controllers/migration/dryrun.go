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
// and validation are asked about it. The CRD needs no opt-in label: who asks has not decided yet. It says now and then how far it is.
func Trial(ctx context.Context, cfg *rest.Config, crd string, opts Options, tell func(Update)) (rewrite.Result, error) {
	r, err := standalone(cfg, opts)
	if err != nil {
		return rewrite.Result{}, err
	}
	defer r.walks.stopAll()
	r.objects, r.opts.Settle = r.objects.DryRun(), 0 // it waits for nothing
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
	return r.try(ctx, found, o, tell)
}

func (r *Reconciler) try(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, o plan.Observation, tell func(Update)) (rewrite.Result, error) {
	walk := r.newWalk(crd, o, plan.Rewriting)
	defer r.tellOf(crd.Name, walk, tell)()
	result, err := r.walk(ctx, crd, walk)
	if t := failureOf(crd, result, err); t != nil {
		return result, &Blocked{CRD: crd.Name, Reason: t.Reason, Sentence: t.Message}
	}
	return result, err
}

// tellOf says how far a walk is until the function that it returns is called.
func (r *Reconciler) tellOf(crd string, walk *rewrite.Walk, tell func(Update)) (end func()) {
	ended, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		for {
			select {
			case <-ended:
				return
			case <-r.opts.Clock.After(pollInterval):
				counts, looking := progressOf(walk)
				tell(Update{CRD: crd, Progress: counts.Progress(), Looking: looking})
			}
		}
	}()
	return func() { close(ended); <-told }
}
