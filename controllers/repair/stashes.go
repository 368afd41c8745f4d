package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/policies/survivors"
)

// stashedCopies are the kind that is moved by controllers/rewrite/embeddedcopies, at the places that declare how. Each CRD has a look of
// its own, one after the other, at the few resources that its places name.
type stashedCopies struct {
	cluster      Cluster
	places       []survivors.Place
	newConverter func() embeddedcopies.Converter
	client       dynamic.Interface
	lane         *throttle.Lane
	clock        clock.Clock
	recorder     events.EventRecorder
	metrics      *repairMetrics
}

func (k *stashedCopies) wanted(crd metav1.Object) bool { return crds.MigratesStashes(crd) }

func (k *stashedCopies) forget(crd string) { k.metrics.forget(crd) }

func (k *stashedCopies) repair(ctx context.Context, subjects []subject) map[string]finding {
	all := map[string]finding{}
	for _, s := range subjects {
		found := foundStashes{metrics: k.metrics}
		found.Report, found.err = k.move(ctx, k.copiesOf(s))
		if ctx.Err() != nil {
			found.err = ctx.Err() // whatever the request that was cut off has answered
		}
		all[s.name()] = found
	}
	return all
}

// copiesOf are copies of a CRD's objects at versions that are asked to go, and at those that can be moved and that the CRD does not
// have.
func (k *stashedCopies) copiesOf(s subject) survivors.Target {
	t := survivors.Target{CRD: s.target.CRD, Group: s.target.Group, Plural: s.target.Plural, Kinds: []string{s.target.Kind}, Staying: s.target.Listed}
	gone := slices.DeleteFunc(t.Movable(k.places), func(version string) bool { return slices.Contains(s.target.Listed, version) })
	return t.With(slices.Concat(s.target.Leaving, gone))
}

// move moves what is to be moved of one CRD.
func (k *stashedCopies) move(ctx context.Context, target survivors.Target) (embeddedcopies.Report, error) {
	if len(target.Leaving) == 0 || ctx.Err() != nil {
		return embeddedcopies.Report{}, ctx.Err()
	}
	resources, unseen, err := k.cluster.Resources()
	if err != nil {
		return embeddedcopies.Report{}, fmt.Errorf(noResources, err)
	}
	types, err := k.cluster.Types(ctx, []survivors.Target{target})
	if err != nil {
		return embeddedcopies.Report{}, err
	}
	job := &embeddedcopies.Migration{
		Targets: []survivors.Target{target}, Places: k.places, Converter: k.newConverter(), Resources: resources, Unseen: unseen, Lister: k.cluster,
		Client: k.client, Types: types, Mapper: k.cluster.Mapper(), Tell: k.tell, Most: mostTold, Lane: k.lane, Clock: k.clock,
	}
	return job.Run(ctx)
}

// tell records what was deleted, or made again, on the object that has its place now, as it happens: a process that is killed has
// told of it.
func (k *stashedCopies) tell(r embeddedcopies.Replacement) {
	said := saying{reason: v1alpha1.EventStashReplaced, normal: true, text: fmt.Sprintf(
		"it has taken the place of %s, which was deleted: %s at %s, now at %s. Its annotations with %s keep that object as it was",
		r.Object, r.Copy, r.From, r.To, v1alpha1.ReplacedAnnotationPrefix)}
	if r.NamedBy != "" {
		said = saying{reason: v1alpha1.EventStashRestored, text: fmt.Sprintf(
			"it had been deleted, since another object has its place; %s names it, so it was created again, and is moved again", r.NamedBy)}
	}
	tell(k.recorder, r.Now, said)
}

// foundStashes is what a repair has found for one CRD.
type foundStashes struct {
	embeddedcopies.Report

	// err: not all was looked at.
	err     error
	metrics *repairMetrics
}

func (f foundStashes) stopped() bool { return errors.Is(f.err, context.Canceled) }

func (f foundStashes) measure(crd string) {
	c := counted{moved: f.Moved, left: map[string]int64{}, failed: f.err != nil, stopped: f.stopped(), known: f.err == nil && !f.Unfinished && len(f.NotLooked) == 0}
	for i := range f.Left {
		c.left[string(f.Left[i].Reason)] = f.Left[i].Count
	}
	f.metrics.looked(crd, c)
}

func (f foundStashes) outcome() outcome {
	switch {
	case f.err != nil, f.Unfinished, len(f.Left) > 0, len(f.NotLooked) > 0:
		return unfinished
	case f.Moved > 0, f.GivenBack > 0:
		return moved
	default:
		return none
	}
}
