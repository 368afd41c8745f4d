// Package snapshot is `moult snapshot`: what a cluster stores, written to a file.
package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/words"
)

// failOnError is the --fail-on by which only a snapshot that is not written fails.
const failOnError = "error"

// command is what a person wants to be kept of a cluster.
type command struct {
	*cli.Factory
	file, output, cluster string
	noObjects, noNames    bool
	references, secrets   bool
	fields                bool
	places                string
	failOn                cli.FailOn
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	s := &command{Factory: f}
	c := &cobra.Command{
		Use:   "snapshot --context CONTEXT [CRD...]",
		Short: "Record what a cluster stores, for moult preview to judge where there is no cluster",
		Long: `Read what a removal of versions depends on, of the named CRDs or of all, and write it
to a file. A pipeline can use that file without access to the cluster. It has the CRDs'
versions, storedVersions and conditions, and how many objects there are and which field
managers wrote them at which version. It also has the VersionRemovals, and whether
clients still request or watch an old version.

Nothing is written to the cluster. Read-only rights are enough. With fewer rights, the
snapshot lists what could not be read and the rule that would grant it; what could not
be read never counts as absent. The file holds no objects and no secrets, only counts,
the names of field managers and a few names of objects; --no-names leaves the latter out.

The cluster has to be named with --context, because a snapshot of the wrong one looks
the same.

` + f.ExitCodes(cli.Codes{
			Done:    "the snapshot is written, with a list of what could not be read",
			Unknown: "with --fail-on unknown: it is, and that list has an entry",
		}),
		Example: f.Example(`  # all CRDs, for the repository that moult preview looks at
  moult snapshot --context production -f snapshots/production.yaml

  # two of them, on standard output
  moult snapshot --context production widgets.example.com gadgets.example.com -o json

  # with the number of objects that have each field, for a storage version that lacks some
  moult snapshot --context production --fields -f snapshots/production.yaml

  # with what else names an old version: owner references, policies, stashed copies
  moult snapshot --context production --references -f snapshots/production.yaml

  # a cluster with millions of objects, or one whose names have to stay private
  moult snapshot --context production --no-objects
  moult snapshot --context production --no-names`),
		ValidArgsFunction: f.CompleteCRDs,
		RunE:              func(c *cobra.Command, names []string) error { return s.run(c.Context(), words.Distinct(names)) },
	}
	c.Flags().StringVarP(&s.file, "file", "f", "", "file to write; default: standard output")
	c.Flags().StringVarP(&s.output, "output", "o", "", "yaml or json; default: json for a file that ends in .json, else yaml")
	c.Flags().StringVar(&s.cluster, "cluster", "", "what to call the cluster in the snapshot; default: the context")
	c.Flags().BoolVar(&s.noObjects, "no-objects", false, "do not look through the objects; who owns fields at which version is not known then")
	c.Flags().BoolVar(&s.noNames, "no-names", false, "name no objects")
	c.Flags().BoolVar(&s.fields, "fields", false, "read all objects, and count which fields they have, so that a preview can show whether a field that goes is in use")
	c.Flags().BoolVar(&s.references, "references", false, "look through all objects of the cluster for what else names a version, as moult survivors does")
	c.Flags().BoolVar(&s.secrets, "secrets", false, "look through Secrets, too, with --references")
	c.Flags().StringVar(&s.places, "places", "", "with --references, folder with places of your own, one in each file that ends in .yaml, as moult-controller has them")
	s.failOn.AddFlag(c, failOnError, failOnError, cli.FailOnUnknown)
	_ = c.MarkFlagDirname("places")
	cli.OneOf(c, "output", "json", "yaml")
	cli.Hint(c, "output", "for a file of that name write -f %s")
	return c
}

func (s *command) run(ctx context.Context, names []string) error {
	if err := s.validate(); err != nil {
		return err
	}
	taken, err := s.take(ctx, names)
	if err != nil {
		return err
	}
	content, err := s.render(taken)
	if err != nil {
		return err
	}
	if s.file == "" {
		if _, err := s.Out.Write(content); err != nil {
			return err
		}
	} else if err := output.WriteFile(s.file, content); err != nil {
		return fmt.Errorf("--file %w", err)
	}
	s.summarize(taken)
	if len(taken.NotRead) > 0 {
		return s.failOn.Ending(cli.ExitUnknown)
	}
	return nil
}

// validate refuses a snapshot of a cluster that is not named, since the kubeconfig may point at another one.
func (s *command) validate() error {
	if (s.secrets || s.places != "") && !s.references {
		return errors.New("--secrets and --places are about what --references looks through; give it, too, or neither")
	}
	if s.ContextName != "" {
		return nil
	}
	contexts := s.Contexts()
	switch {
	case len(contexts) > 0:
		return fmt.Errorf("name the cluster with --context; the kubeconfig has %s", strings.Join(contexts, ", "))
	case s.cluster == "":
		return fmt.Errorf("name the cluster with --context, or with --cluster when running inside it without a kubeconfig")
	default:
		return nil
	}
}

func (s *command) take(ctx context.Context, names []string) (*snapshot.Snapshot, error) {
	cfg, err := s.Config()
	if err != nil {
		return nil, err
	}
	places, err := start.Places(s.places)
	if err != nil {
		return nil, err
	}
	taken, err := inspect.Take(ctx, cfg, inspect.Options{
		Cluster: cmp.Or(s.cluster, s.ContextName), CRDs: names, LabelKey: s.LabelKey,
		MoultVersion: start.Version(), NoObjects: s.noObjects, NoNames: s.noNames,
		Fields: s.fields, References: s.references, Secrets: s.secrets, Places: places, Tell: progress.NewObjects(s.ErrOut).Tell,
	})
	if err != nil {
		return nil, cli.ReadError(err)
	}
	for _, n := range taken.NotRead {
		if n.What == snapshot.CRDs || n.What == snapshot.OneCRD && len(taken.CRDs) == 0 {
			return nil, fmt.Errorf("no snapshot: %s", n.Why)
		}
	}
	return taken, nil
}

func (s *command) render(taken *snapshot.Snapshot) ([]byte, error) {
	if s.output == "json" || s.output == "" && strings.HasSuffix(s.file, ".json") {
		return taken.JSON()
	}
	return taken.Write()
}

// summarize sums up on standard error, so that standard output stays the snapshot.
func (s *command) summarize(taken *snapshot.Snapshot) {
	objects, looked := int64(0), 0
	for _, crd := range taken.CRDs {
		if crd.Objects != nil {
			objects += crd.Objects.Count
			looked++
		}
	}
	where := ""
	if s.file != "" {
		where = " in " + s.file
	}
	fmt.Fprintf(s.ErrOut, "%s: %s, %s of %d of them, %s%s\n", taken.Cluster,
		words.Count(len(taken.CRDs), "CRD"), words.Count(int(objects), "object"), looked, words.Count(len(taken.Removals), "VersionRemoval"), where)
	for _, name := range taken.Named {
		if !slices.ContainsFunc(taken.CRDs, func(c snapshot.CRD) bool { return c.Name == name }) && !slices.ContainsFunc(taken.NotRead, func(n snapshot.NotRead) bool { return n.CRD == name }) {
			fmt.Fprintf(s.ErrOut, "the cluster has no CRD %s; the snapshot records that\n", name)
		}
	}
	for _, n := range taken.NotRead {
		fmt.Fprintf(s.ErrOut, "not read: %s\n", n.Why)
	}
}
