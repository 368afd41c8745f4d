package rehearse

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/engines"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
)

// atOnce is how many clusters are read at a time.
const atOnce = 8

// rehearse looks at all objects that are named; without a name, at those of the cluster.
func (r *command) rehearse(ctx context.Context, s *engines.Subject, tally *conversion.Tally, c *cobra.Command) error {
	r.lines = progress.NewObjects(r.ErrOut)
	stop, err := r.webhook.Start(ctx, s)
	if err != nil {
		return err
	}
	defer stop()
	if len(r.objects) > 0 {
		if err := r.inPlaces(ctx, s, tally, c); err != nil {
			return err
		}
	}
	switch {
	case len(r.contexts) > 1:
		return r.inClusters(ctx, s, tally)
	case len(r.contexts) == 1:
		return r.inCluster(ctx, s, r.contexts[0], "", tally)
	case len(r.objects) == 0:
		return r.inCluster(ctx, s, "", "", tally)
	}
	return nil
}

// inPlaces are the manifests of all places.
func (r *command) inPlaces(ctx context.Context, s *engines.Subject, tally *conversion.Tally, c *cobra.Command) error {
	askers, stop, err := r.webhook.Askers(s, r.factory(""))
	if err != nil {
		return err
	}
	defer stop()
	found := false
	for _, place := range r.objects {
		some, err := r.inPlace(ctx, place, s, askers, tally, c)
		if err != nil {
			return err
		}
		found = found || some
	}
	if !found {
		return fmt.Errorf("there is no object of these CRDs in %s; name the folder that holds some", words.Few(r.objects, 3))
	}
	return nil
}

// inPlace are the objects of a backup, or the manifests of another place.
func (r *command) inPlace(ctx context.Context, place string, s *engines.Subject, askers []engines.Asker, tally *conversion.Tally, c *cobra.Command) (found bool, err error) {
	b, done, err := input.Backup(place)
	if err != nil {
		return false, fmt.Errorf("%s: %w", place, err)
	}
	if b != nil {
		defer done()
		return r.inBackup(ctx, b, s, askers, tally)
	}
	objects, err := input.Objects(ctx, place, c.InOrStdin())
	if err != nil {
		return false, err
	}
	for _, ask := range askers {
		e, err := ask(nil)
		if err != nil {
			return false, err
		}
		var own []map[string]any
		for _, object := range objects {
			if e.IsOf(object.Object) {
				own = append(own, object.Object)
			}
		}
		found = found || len(own) > 0
		for page := range slices.Chunk(own, engines.PerPage) {
			tally.Begin(e, "", "").Add(e.RehearseAll(ctx, page)...)
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
		}
	}
	return found, nil
}

// inClusters are the objects of several clusters at a time. One that cannot be asked is not known, and the others go on.
func (r *command) inClusters(ctx context.Context, s *engines.Subject, tally *conversion.Tally) error {
	var all errgroup.Group
	all.SetLimit(atOnce)
	for _, name := range words.Distinct(r.contexts) {
		all.Go(func() error {
			if err := r.inCluster(ctx, s, name, name, tally); err != nil {
				for _, e := range s.Engines {
					tally.Begin(e, "", name).NotRead(err.Error())
				}
			}
			return ctx.Err()
		})
	}
	return all.Wait()
}

// inCluster are all objects of the CRDs. A CRD that the cluster does not have has none.
func (r *command) inCluster(ctx context.Context, s *engines.Subject, contextName, called string, tally *conversion.Tally) error {
	f := r.factory(contextName)
	cluster, err := f.Cluster()
	if err != nil {
		return err
	}
	askers, stop, err := r.webhook.Askers(s, f)
	if err != nil {
		return err
	}
	defer stop()
	for i, named := range s.Engines {
		crd, err := cluster.GetCRD(ctx, named.CRD)
		switch {
		case apierrors.IsNotFound(err):
			tally.Begin(named, "", called) // there are none, and that is reported
			continue
		case err != nil:
			return cli.ReadError(err)
		}
		e, err := askers[i](crd)
		if err != nil {
			return err
		}
		engines.Live{Cluster: cluster, LabelKey: r.LabelKey, Called: called, Tell: r.tell(called)}.Rehearse(ctx, crd, e, tally)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// factory is the one of a context; the one that the flags of the root name if it is empty.
func (r *command) factory(contextName string) *cli.Factory {
	f := *r.Factory
	if contextName != "" {
		f.ContextName = contextName
	} else if len(r.contexts) > 0 {
		f.ContextName = r.contexts[0]
	}
	return &f
}

// tell reports how far the objects of a cluster are read.
func (r *command) tell(called string) func(inspect.Progress) {
	return func(p inspect.Progress) {
		if called != "" {
			p.CRD = called + ": " + p.CRD
		}
		r.lines.Tell(p)
	}
}
