// Package rehearse is `moult rehearse`: what would become of objects if they were stored at the version of new CRDs.
package rehearse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
)

// The exit codes beyond 0, for nothing lost and nothing refused.
const (
	exitNoAnswer = 1
	exitNotKnown = 2
	exitNotKept  = 3
)

// command is what a person wants to be rehearsed.
type command struct {
	*cli.Factory
	crds    string
	objects []string
	accept  string
	output  string
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	r := &command{Factory: f}
	c := &cobra.Command{
		Use:   "rehearse --crds NEW [--objects WHERE...] [CRD...]",
		Short: "Rehearse what new CRDs do to the objects that there are",
		Long: `Tell what becomes of objects when they are stored at the storage version of new
CRDs: which fields would be lost, and which objects the API server would refuse. It is
worked out by the API server's own code for pruning, defaults, schemas and rules.
Nothing is written, and no server is asked but for the objects.

The objects are the manifests in the places of --objects, or those of the cluster. Of a
cluster, all objects of the CRDs are read, at each version that they may be stored at:
only there all shows that is stored. What is stored at a version that the cluster does
not serve is not known.

A field is lost if the storage version does not know it. What is only a default is no
loss, and fields of status are told and do not count. An object is refused if it breaks
the schema or a rule in a way that the API server does not let pass although nothing in
the object changes; what it lets pass for that long is told, too.

What a conversion webhook does is not known here, so such objects are not known.

Exit codes:
  0    nothing would be lost, and nothing refused
  1    no answer: wrong arguments, a broken CRD, no cluster
  2    not known: nothing is lost or refused of what could be looked at, and some could not
  3    something would be lost, or refused
  130  interrupted`,
		Example: f.Example(`  # the objects of a cluster, before a release is merged
  moult rehearse --context production --crds config/crd

  # two revisions, and manifests
  moult rehearse --crds git:HEAD:config/crd --objects examples

  # losses that are meant: a list of crd, path and reason
  moult rehearse --crds config/crd --objects backup.yaml --accept losses.yaml`),
		RunE: func(c *cobra.Command, names []string) error {
			err := r.run(c.Context(), words.Distinct(names), c)
			if err == nil || c.Context().Err() != nil || errors.As(err, new(cli.Ended)) {
				return err
			}
			return cli.Ended{Code: exitNoAnswer, Err: err}
		},
	}
	c.Flags().StringVar(&r.crds, "crds", "", "the new CRDs: a folder, a file, git:REV:PATH, or - for standard input")
	c.Flags().StringSliceVar(&r.objects, "objects", nil, "where the objects are: a folder, a file, git:REV:PATH, or -; may be given several times; default: the cluster")
	c.Flags().StringVar(&r.accept, "accept", "", "file with losses that are meant: a YAML list of crd, path and reason")
	output.AddFlag(c, &r.output)
	_ = c.MarkFlagFilename("accept", "yaml", "yml")
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return cli.Ended{Code: exitNoAnswer, Err: fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	return c
}

func (r *command) run(ctx context.Context, names []string, c *cobra.Command) error {
	if err := output.CheckFormat(r.output); err != nil {
		return err
	}
	if r.crds == "" {
		return errors.New("name the new CRDs with --crds, for example --crds config/crd")
	}
	accepted, err := r.accepted()
	if err != nil {
		return err
	}
	all, err := input.CRDs(ctx, r.crds, c.InOrStdin())
	if err != nil {
		return err
	}
	if all, err = input.Chosen(all, names, r.crds); err != nil {
		return err
	}
	engines := make([]*conversion.Engine, len(all))
	for i, crd := range all {
		if engines[i], err = conversion.New(crd); err != nil {
			return err
		}
	}
	tally := conversion.NewTally()
	if len(r.objects) == 0 {
		err = r.inCluster(ctx, engines, tally)
	} else {
		err = r.inPlaces(ctx, engines, tally, c)
	}
	if err != nil {
		return err
	}
	report := tally.Report(accepted)
	if err := r.print(report); err != nil {
		return err
	}
	switch report.Verdict {
	case conversion.NotKept:
		return cli.Ended{Code: exitNotKept}
	case conversion.NotKnown:
		return cli.Ended{Code: exitNotKnown}
	case conversion.Kept:
	}
	return nil
}

// accepted are the losses that somebody means.
func (r *command) accepted() (accepted []conversion.Accepted, err error) {
	if r.accept == "" {
		return nil, nil
	}
	content, err := os.ReadFile(r.accept)
	if err == nil {
		err = yaml.UnmarshalStrict(content, &accepted)
	}
	for i, a := range accepted {
		if err == nil && (a.CRD == "" || a.Path == "" || a.Reason == "") {
			err = fmt.Errorf("entry %d lacks the crd, the path or the reason", i+1)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--accept %s: %w; write a list like\n- crd: widgets.example.com\n  path: spec.color\n  reason: nobody reads it", r.accept, err)
	}
	return accepted, nil
}

// inPlaces are the manifests of all places.
func (r *command) inPlaces(ctx context.Context, engines []*conversion.Engine, tally *conversion.Tally, c *cobra.Command) error {
	found := false
	for _, place := range r.objects {
		objects, err := input.Objects(ctx, place, c.InOrStdin())
		if err != nil {
			return err
		}
		for i := range objects {
			for _, e := range engines {
				if e.IsOf(objects[i].Object) {
					tally.Begin(e, "").Add(e.Rehearse(ctx, objects[i].Object))
					found = true
				}
			}
		}
	}
	if !found {
		return fmt.Errorf("there is no object of these CRDs in %s; name the folder that holds some", words.Few(r.objects, 3))
	}
	return nil
}

// inCluster are all objects of the CRDs. A CRD that the cluster does not have has none.
func (r *command) inCluster(ctx context.Context, engines []*conversion.Engine, tally *conversion.Tally) error {
	cluster, err := r.Cluster()
	if err != nil {
		return err
	}
	for _, e := range engines {
		crd, err := cluster.GetCRD(ctx, e.CRD)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return cli.ReadError(err)
		}
		r.ofCRD(ctx, cluster, crd, e, tally)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// ofCRD reads the objects at each version that they may be stored at and that is not to be the storage version: only there
// all shows that is stored. If there is none, nothing has to be converted, and they are read at the storage version.
func (r *command) ofCRD(ctx context.Context, cluster *inspect.Cluster, crd *apiextensionsv1.CustomResourceDefinition, e *conversion.Engine, tally *conversion.Tally) {
	stored := slices.DeleteFunc(words.Distinct(append(slices.Clone(crd.Status.StoredVersions), crds.StorageVersion(crd))), func(v string) bool { return v == e.Storage })
	if len(stored) == 0 {
		stored = []string{e.Storage}
	}
	for _, version := range stored {
		of := tally.Begin(e, version)
		if v := crds.Version(crd, version); v == nil || !v.Served {
			of.NotRead(fmt.Sprintf("objects may be stored at %s, which the cluster does not serve, so what they have there cannot be read", version))
			continue
		}
		err := cluster.EachObject(ctx, crd, version, of.Restart, func(object map[string]any) { of.Add(e.Rehearse(ctx, object)) })
		if err != nil {
			of.NotRead(err.Error())
		}
	}
}
