package repair

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// stashedCopies are the kind that is moved by controllers/rewrite/embeddedcopies, at the places that declare how. Each CRD has a look of
// its own, one after the other, at the few resources that its places name.
type stashedCopies struct {
	cluster      Cluster
	losses       rewrite.Losses
	places       []survivors.Place
	newConverter func() embeddedcopies.Converter
	client       dynamic.Interface
	lane         *throttle.Lane
	clock        clock.Clock
	recorder     events.EventRecorder
}

func (k *stashedCopies) wanted(crd metav1.Object) bool { return crds.MigratesStashes(crd) }

func (k *stashedCopies) repair(ctx context.Context, subjects []subject) map[string]finding {
	all := map[string]finding{}
	for _, s := range subjects {
		report, err := k.move(ctx, k.copiesOf(s))
		if ctx.Err() != nil {
			err = ctx.Err() // whatever the request that was cut off has answered
		}
		all[s.name()] = finding{Report: report, err: err}
	}
	return all
}

// copiesOf are copies of a CRD's objects at versions that are asked to go, and at those that can be moved and that the CRD does not
// have.
func (k *stashedCopies) copiesOf(s subject) survivors.Target {
	t := survivors.Target{CRD: s.target.CRD, Group: s.target.Group, Plural: s.target.Plural, Kinds: []string{s.target.Kind}, Staying: s.listed}
	gone := slices.DeleteFunc(t.Movable(k.places), func(version string) bool { return slices.Contains(s.listed, version) })
	return t.With(slices.Concat(s.target.Leaving, gone))
}

// move moves what is to be moved of one CRD.
func (k *stashedCopies) move(ctx context.Context, target survivors.Target) (repairs.Report, error) {
	if len(target.Leaving) == 0 || ctx.Err() != nil {
		return repairs.Report{}, ctx.Err()
	}
	resources, unseen, err := k.cluster.Resources()
	if err != nil {
		return repairs.Report{}, fmt.Errorf(noResources, err)
	}
	types, err := k.cluster.Types(ctx, []survivors.Target{target})
	if err != nil {
		return repairs.Report{}, err
	}
	job := &embeddedcopies.Migration{
		Work:    repairs.Work{Resources: resources, Unseen: unseen, Most: mostNamed, Lane: k.lane, Clock: k.clock},
		Targets: []survivors.Target{target}, Places: k.places, Converter: k.newConverter(), Lister: k.cluster,
		Client: k.client, Types: types, Mapper: k.cluster.Mapper(), Tell: k.tell,
		Losses: k.losses,
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

// copyEvents are what is said about stashed copies.
var copyEvents = &inEvents{
	Kind:  &embeddedcopies.Kind,
	moved: v1alpha1.EventStashesMoved, returned: v1alpha1.EventStashesReturned,
	left: v1alpha1.EventStashesLeft, unknown: v1alpha1.EventStashesUnknown,
	movedText: movedCopies,
	returnedText: func(_ subject, f finding) string {
		return fmt.Sprintf("%s named again after the objects that hold them were deleted, so these were created again; Events on them name the writers", were(f.Returned))
	},
}

func movedCopies(_ subject, f finding) string {
	text := were(f.Moved) + " moved"
	for i := range f.Items[:min(len(f.Items), maxNamed)] {
		s := &f.Items[i]
		text += fmt.Sprintf("; that of %s from %s to %s in %s, whose annotations keep the object that was deleted", s.Object, s.From, s.To, s.Successor)
	}
	if more := f.Moved - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more, each named by an Event on its successor", more)
	}
	return text
}

func were(n int64) string { return embeddedcopies.Kind.Count(n) + " " + words.Agree(n, "was", "were") }
