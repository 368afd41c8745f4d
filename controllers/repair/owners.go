package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
)

// ownerReferences are the kind that is moved by controllers/rewrite/owners. A look goes through all objects of the cluster, once
// for all CRDs that are due.
type ownerReferences struct {
	cluster Cluster
	objects *rewrite.Client
	lane    *throttle.Lane
	clock   clock.Clock
	memory  owners.Memory
	metrics *repairMetrics
}

func (k *ownerReferences) wanted(crd metav1.Object) bool { return crds.RepairsOwners(crd) }

func (k *ownerReferences) forget(crd string) { k.metrics.forget(crd) }

func (k *ownerReferences) repair(ctx context.Context, subjects []subject) map[string]finding {
	report, err := k.move(ctx, subjects)
	all := map[string]finding{}
	for _, s := range subjects {
		all[s.name()] = foundReferences{Report: report.Each[s.name()], err: err, metrics: k.metrics}
	}
	return all
}

// move moves what is to be moved.
func (k *ownerReferences) move(ctx context.Context, subjects []subject) (owners.Report, error) {
	resources, unseen, err := k.cluster.Resources()
	if err != nil {
		return owners.Report{}, fmt.Errorf(noResources, err)
	}
	job := &owners.Repair{
		Resources: resources, Lister: k.cluster, Client: k.objects, Most: mostTold, Memory: &k.memory, Lane: k.lane, Clock: k.clock,
	}
	for i := range subjects {
		job.Targets = append(job.Targets, subjects[i].target)
	}
	report, err := job.Run(ctx)
	for crd, each := range report.Each {
		for group, why := range unseen {
			each.NotLooked = append(each.NotLooked, owners.NotLooked{Resource: "*." + group, Why: why})
		}
		slices.SortFunc(each.NotLooked, func(a, b owners.NotLooked) int { return cmp.Compare(a.Resource, b.Resource) })
		report.Each[crd] = each
	}
	return report, err
}

const noResources = "the API server does not tell which resources there are: %w"

// foundReferences is what a repair has found for one CRD.
type foundReferences struct {
	owners.Report

	// err: not all was looked at.
	err     error
	metrics *repairMetrics
}

func (f foundReferences) stopped() bool { return errors.Is(f.err, context.Canceled) }

func (f foundReferences) measure(crd string) {
	c := counted{moved: f.Moved, left: map[string]int64{}, failed: f.err != nil, stopped: f.stopped(), known: f.err == nil && !f.Unfinished && len(f.NotLooked) == 0}
	for i := range f.Left {
		c.left[string(f.Left[i].Reason)] = f.Left[i].Count
	}
	f.metrics.looked(crd, c)
}

func (f foundReferences) outcome() outcome {
	switch {
	case f.err != nil, f.Unfinished, len(f.Left) > 0, len(f.NotLooked) > 0:
		return unfinished
	case f.Moved > 0:
		return moved
	default:
		return none
	}
}
