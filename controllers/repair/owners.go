package repair

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/policies/words"
)

// ownerReferences are the kind that is moved by controllers/rewrite/owners. One look at all objects of the cluster serves all CRDs.
type ownerReferences struct {
	cluster Cluster
	losses  rewrite.Losses
	objects *rewrite.Client
	lane    *throttle.Lane
	room    *rewrite.Room
	clock   clock.Clock
	memory  owners.Memory
}

func (k *ownerReferences) wanted(crd metav1.Object) bool { return crds.RepairsOwners(crd) }

func (k *ownerReferences) repair(ctx context.Context, subjects []subject) map[string]finding {
	report, err := k.move(ctx, subjects)
	all := map[string]finding{}
	for _, s := range subjects {
		all[s.name()] = finding{Report: report.Each[s.name()], err: err}
	}
	return all
}

func (k *ownerReferences) move(ctx context.Context, subjects []subject) (repairs.Report, error) {
	resources, unseen, err := k.cluster.Resources()
	if err != nil {
		return repairs.Report{}, fmt.Errorf(noResources, err)
	}
	job := &owners.Repair{
		Work:    repairs.Work{Resources: resources, Unseen: unseen, Most: mostNamed, Lane: k.lane, Clock: k.clock},
		Targets: words.Of(subjects, func(s subject) owners.Target { return s.target }), Lister: k.cluster, Client: k.objects, Room: k.room, Memory: &k.memory,
		Losses: k.losses,
	}
	return job.Run(ctx)
}

const noResources = "the API server does not report which resources there are: %w"

// ownerEvents are what is said about owner references.
var ownerEvents = &inEvents{
	Kind:  &owners.Kind,
	moved: v1alpha1.EventOwnerReferencesMoved, returned: v1alpha1.EventOwnerReferencesReturned,
	left: v1alpha1.EventOwnerReferencesLeft, unknown: v1alpha1.EventOwnerReferencesUnknown,
	movedText: movedReferences, returnedText: returnedReferences,
}

func movedReferences(s subject, f finding) string {
	text := fmt.Sprintf("%s moved to %s", owners.Kind.Count(f.Moved), s.target.Storage)
	if f.Taken > 0 {
		text += fmt.Sprintf("; %d of them belong to Moult in managedFields now: %s", f.Taken, f.TakenWhy)
	}
	if len(f.Items) > 0 {
		text += fmt.Sprintf("; for example that of %s to %s, from %s", f.Items[0].Object, f.Items[0].Owner, f.Items[0].From)
	}
	if len(f.Writers) > 0 {
		names := words.Of(f.Writers, func(w repairs.Writer) string { return w.Manager })
		text += "; they were set by " + words.Few(names, maxNamed) + ", which should write the storage version by now"
	}
	return text
}

func returnedReferences(s subject, f finding) string {
	by := "managedFields do not say who"
	if len(f.ReturnedBy) > 0 {
		by = "the field manager is " + words.Few(f.ReturnedBy, maxNamed)
	}
	return fmt.Sprintf("%s had been moved before, and somebody wrote another version again: %s. It has to write %s/%s, or the references come back after the removal, too",
		owners.Kind.Count(f.Returned), by, s.target.Group, s.target.Storage)
}
