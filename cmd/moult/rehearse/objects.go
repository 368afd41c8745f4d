package rehearse

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/archive"
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
		return r.inBackup(ctx, b, r.calledBeside(place), s, askers, tally)
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

// calledBeside names a backup if it is not all that is rehearsed: its objects may be those of the cluster, or of another one.
func (r *command) calledBeside(place string) string {
	if len(r.objects)+len(r.contexts) > 1 {
		return place
	}
	return ""
}

// inBackup are the objects of a backup, as they would be read in the cluster that it is of. They are at each version
// that they may be stored at and that is not to be the storage version.
func (r *command) inBackup(ctx context.Context, b *archive.Backup, called string, s *engines.Subject, askers []engines.Asker, tally *conversion.Tally) (found bool, err error) {
	for i, named := range s.Engines {
		of := slices.IndexFunc(b.CRDs, func(of archive.CRDReport) bool { return of.Name == named.CRD })
		if of < 0 {
			continue
		}
		e, err := askers[i](b.Definitions[named.CRD])
		if err != nil {
			return false, err
		}
		found = true
		for _, version := range engines.StoredAt(b.Definitions[named.CRD], e, r.LabelKey) {
			if crds.IsHidden(b.Definitions[named.CRD], version) && !slices.Contains(b.CRDs[of].NotRead, version) {
				continue // no object's managedFields name it
			}
			if err := ofBackup(ctx, b, &b.CRDs[of], tally.Begin(e, version, called), version, e); err != nil {
				return false, err
			}
		}
	}
	return found, nil
}

func ofBackup(ctx context.Context, b *archive.Backup, of *archive.CRDReport, counts *conversion.Counts, version string, e *conversion.Engine) error {
	if !slices.Contains(of.Versions, version) {
		counts.NotRead("objects may be stored at " + version + ", which the backup was not read at")
		return nil
	}
	var page []map[string]any
	rehearse := func() {
		counts.Add(e.RehearseAll(ctx, page)...)
		page = page[:0]
	}
	for _, m := range of.MissingAt(version) {
		counts.Add(conversion.Outcome{Object: m.Object, From: version, Unknown: "the backup could not read it at " + version})
	}
	err := b.Each(func(o archive.Object) error {
		if o.CRD != of.Name || o.Copies[version] == nil {
			return nil
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(o.Copies[version]); err != nil {
			return err
		}
		if page = append(page, object.Object); len(page) == engines.PerPage {
			rehearse()
		}
		return ctx.Err()
	})
	if err == nil && len(page) > 0 {
		rehearse()
	}
	return err
}
