package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/moult-dev/moult/controllers/rewrite/owners"
)

// mostTold is how many references of each sort are kept to be named.
const mostTold = 20

// work is a repair for some CRDs, in the background.
type work struct {
	subjects []subject
	cancel   context.CancelFunc
	done     chan struct{}

	// From here on only after done.
	report owners.Report
	err    error
}

// found is what a repair has found for one CRD.
type found struct {
	owners.Report

	// err: not all was looked at.
	err error
	// stopped: it was not wanted any more, or the process ends.
	stopped bool
}

// start begins a repair.
func (r *Reconciler) start(subjects []subject) {
	ctx, cancel := context.WithCancel(r.base)
	w := &work{subjects: subjects, cancel: cancel, done: make(chan struct{})}
	r.work = w
	r.works.Go(func() {
		defer cancel()
		w.report, w.err = r.repair(ctx, subjects)
		close(w.done)
		select {
		case r.ended <- struct{}{}:
		default: // one that was not read yet will do
		}
	})
}

// repair looks through all objects of the cluster, and moves what is to be moved.
func (r *Reconciler) repair(ctx context.Context, subjects []subject) (owners.Report, error) {
	resources, unseen, err := r.opts.Cluster.Resources()
	if err != nil {
		return owners.Report{}, fmt.Errorf("the API server does not tell which resources there are: %w", err)
	}
	job := &owners.Repair{
		Resources: resources, Lister: r.opts.Cluster, Client: r.objects, Most: mostTold, Memory: r.memory, Lane: r.lane, Clock: r.opts.Clock,
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

func (w *work) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// subjectsOf are those of a repair that is under way.
func (w *work) subjectsOf() []subject {
	if w == nil {
		return nil
	}
	return w.subjects
}

// found is what an ended repair has found for one of its subjects.
func (w *work) found(s subject) found {
	return found{Report: w.report.Each[s.name()], err: w.err, stopped: errors.Is(w.err, context.Canceled)}
}

// outcome is never better than what was seen.
func (f *found) outcome() outcome {
	switch {
	case f.err != nil, f.Unfinished, len(f.Left) > 0, len(f.NotLooked) > 0:
		return unfinished
	case f.Moved > 0:
		return moved
	default:
		return none
	}
}
