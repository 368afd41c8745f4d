package owners

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/words"
)

// workers are the objects of a page that may be written at a time; the Lane allows fewer.
const workers = 32

// Lister lists the metadata of all objects of a resource, a page at a time. An object may come twice. why says, after an error
// of the API server, why the objects are not known, and which permission is missing if that is why.
type Lister interface {
	EachPage(ctx context.Context, at schema.GroupVersionResource, take func([]metav1.PartialObjectMetadata)) (why string, err error)
}

// Repair moves owner references.
type Repair struct {
	repairs.Work

	// Targets are the CRDs of the owners.
	Targets []Target
	// Lister lists all that may have references.
	Lister Lister
	// Client reads owners, and writes what refers to them.
	Client *rewrite.Client
	// Orphans moves references whose owner does not exist, too. What they are in is then for the garbage collector to delete.
	Orphans bool
	// Room is shared by all walks and repairs of a process. Default: one of its own.
	Room *rewrite.Room
	// Memory reports what an earlier Repair has moved already. Default: none.
	Memory *Memory
	// Losses is asked what an object would lose before it is written. Default: nothing is asked.
	Losses rewrite.Losses

	living living
}

// Run lists and moves until a list of all objects has nothing to be moved. It is as Work.Run.
func (r *Repair) Run(ctx context.Context) (repairs.Report, error) {
	if r.Room == nil {
		r.Room = rewrite.NewRoom()
	}
	r.living = newLiving()
	return r.Work.Run(ctx, &Kind, words.Of(r.Targets, func(t Target) string { return t.CRD }), r.look)
}

// look goes through all objects once.
func (r *Repair) look(ctx context.Context) error {
	for group, why := range r.Unseen {
		r.CannotLook("*."+group, why)
	}
	for _, at := range r.Resources {
		var stopped error
		why, err := r.Lister.EachPage(ctx, at, func(items []metav1.PartialObjectMetadata) {
			if stopped == nil {
				stopped = r.page(ctx, at, items)
			}
		})
		if stopped != nil {
			return stopped
		}
		if _, err := r.Listed(ctx, at.GroupResource().String(), why, err); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repair) page(ctx context.Context, at schema.GroupVersionResource, items []metav1.PartialObjectMetadata) error {
	refers := slices.DeleteFunc(slices.Clone(items), func(item metav1.PartialObjectMetadata) bool { return len(matches(r.Targets, &item)) == 0 })
	if len(refers) == 0 {
		return nil
	}
	loses, done, err := r.losses(ctx, at)
	if err != nil {
		return err
	}
	defer done()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range refers {
		group.Go(func() error { return r.visit(ctx, at, &refers[i], loses) })
	}
	return group.Wait()
}

func (r *Repair) visit(ctx context.Context, at schema.GroupVersionResource, item *metav1.PartialObjectMetadata, loses rewrite.AskLoss) error {
	room, err := r.Room.Visit(ctx, int64(item.Size()))
	if err != nil {
		return err
	}
	defer room.End()
	client := r.Client
	if r.DryRun {
		client = client.DryRun()
	}
	return (&visit{Repair: r, at: at, room: room, objects: room.In(client.Resource(at)), listed: item, item: item, loses: loses}).run(ctx)
}
