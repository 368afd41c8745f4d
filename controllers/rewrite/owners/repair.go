package owners

import (
	"context"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
)

const (
	// maxLooks is how often all objects are listed, if each look finds references that the one before has not seen.
	maxLooks = 10
	// maxMoves is how often one reference is moved before the one who writes it back is named.
	maxMoves = 2
	// maxRaces is how often a reference is read again after another client has written its object first.
	maxRaces = 10
	// workers are the objects of a page that may be written at a time; the Lane allows fewer.
	workers = 32
)

// Lister lists the metadata of all objects of a resource, a page at a time. An object may come twice. why says, after an error
// of the API server, why the objects are not known, and which permission is missing if that is why.
type Lister interface {
	EachPage(ctx context.Context, at schema.GroupVersionResource, take func([]metav1.PartialObjectMetadata)) (why string, err error)
}

// Repair moves owner references.
type Repair struct {
	// Targets are the CRDs of the owners.
	Targets []Target
	// Resources are all that may have references, each at a version that is served.
	Resources []schema.GroupVersionResource
	// Lister lists them.
	Lister Lister
	// Client reads owners, and writes what refers to them.
	Client *rewrite.Client
	// DryRun has the API server check each write, and writes nothing.
	DryRun bool
	// Orphans moves references whose owner does not exist, too. What they are in is then for the garbage collector to delete.
	Orphans bool
	// Most is how many references of each sort the report has. All are counted. 0: all.
	Most int
	// Memory tells what an earlier Repair has moved already. Default: none.
	Memory *Memory
	// Lane paces the writes. Default: one on a pace of its own.
	Lane *throttle.Lane
	// Clock is replaced in tests. Default: the real one.
	Clock clock.Clock

	collector *collector
	living    living
}

// Run lists and moves until a list of all objects has nothing to be moved. What was left is in the report and is no error. It
// runs once; it may be stopped at any time, and run again by another Repair.
func (r *Repair) Run(ctx context.Context) (Report, error) {
	if r.Lane == nil {
		r.Lane = throttle.New(throttle.Options{MaxInFlight: workers}).Lane()
	}
	if r.Clock == nil {
		r.Clock = clock.RealClock{}
	}
	r.collector, r.living = newCollector(r.Most, r.Memory, r.Targets), newLiving()
	for looks := 1; ; looks++ {
		r.collector.look()
		for _, at := range r.Resources {
			if err := r.look(ctx, at); err != nil {
				return r.collector.result(looks), err
			}
		}
		if r.DryRun || r.collector.movedNow() == 0 || looks == maxLooks {
			return r.collector.result(looks), nil
		}
	}
}

// look goes through all objects of a resource once.
func (r *Repair) look(ctx context.Context, at schema.GroupVersionResource) error {
	var stopped error
	why, err := r.Lister.EachPage(ctx, at, func(items []metav1.PartialObjectMetadata) {
		if stopped == nil {
			stopped = r.page(ctx, at, items)
		}
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case stopped != nil:
		return stopped
	case err != nil && !apierrors.IsNotFound(err): // the resource may have gone since
		r.collector.cannotLook(at.GroupResource().String(), why)
	}
	return nil
}

func (r *Repair) page(ctx context.Context, at schema.GroupVersionResource, items []metav1.PartialObjectMetadata) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range items {
		if item := &items[i]; len(matches(r.Targets, item)) > 0 {
			group.Go(func() error {
				v := &visit{Repair: r, at: at, objects: r.Client.Resource(at), item: item}
				if r.DryRun {
					v.objects = r.Client.DryRun().Resource(at)
				}
				return v.run(ctx)
			})
		}
	}
	return group.Wait()
}
