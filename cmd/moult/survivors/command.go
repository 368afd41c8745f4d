// Package survivors is `moult survivors`: what still names the versions that are to be removed. `moult survivors migrate` moves stashed
// copies to a version that stays.
package survivors

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/cmd/moult/repair"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// command is what a person wants to be looked for.
type command struct {
	*cli.Factory
	output     string
	versions   []string
	places     string
	secrets    bool
	everything bool
	limit      int
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	s := &command{Factory: f}
	c := &cobra.Command{
		Use:   "survivors [CRD...]",
		Short: "Find what still names the versions that are to be removed from a CRD",
		Long: `Look through the cluster for other objects that name the versions of the named CRDs
that are to be removed, or of all CRDs that are opted in. Nothing is written.

Every stored object can be at the new version, and a removal can still break the
cluster. The garbage collector deletes what an owner reference at the old version
belongs to, webhooks and policies stop matching, and stashed copies cannot be read.
The report has the worst first, each with the object, the field, what happens, and
how to fix it. docs/places.md has all places that are looked at.

The versions are those of --version; else those that VersionRemovals of the CRD name;
else all but the storage version, which are those that could be removed. --version may
name one that has left already.

Read-only rights are enough: list on all resources, of most of which only the metadata
are read. What may not be read is not known, and never taken for none. Secrets hold
Helm's releases. They are read only with --secrets, and only the names in references are
kept and reported. Backups, Git and other clusters are never looked at.

` + f.ExitCodes(cli.Codes{
			Done:    "nothing names the versions, in what was looked at",
			NotDone: "something does, with an effect worse than cosmetic",
			Unknown: "nothing was found, and something could not be looked at",
		}),
		Example: f.Example(`  # all opted-in CRDs
  moult survivors

  # before v1alpha1 is removed, with Helm's releases
  moult survivors widgets.example.com --version v1alpha1 --secrets

  # with places of your own
  moult survivors widgets.example.com --places ./places

  # the objects that would lose data, for a program
  moult survivors -o json | jq '.found[] | select(.effect == "losesData") | .references[].object'`),
		ValidArgsFunction: f.CompleteCRDs,
		RunE: func(c *cobra.Command, names []string) error {
			return s.run(c.Context(), words.Distinct(names))
		},
	}
	c.Flags().StringSliceVar(&s.versions, "version", nil, "versions that are to be removed; may be given several times")
	c.Flags().BoolVar(&s.secrets, "secrets", false, "read Secrets, too")
	c.Flags().BoolVar(&s.everything, "everything", false, "read all objects whole, for what lies at no known place; slow")
	c.Flags().StringVar(&s.places, "places", "", "folder with places of your own, one in each file that ends in .yaml")
	c.Flags().IntVar(&s.limit, "limit", 100, "most fields that are named of each place, CRD and version; all are counted; 0 for all")
	output.AddFlag(c, &s.output)
	_ = c.RegisterFlagCompletionFunc("version", cobra.NoFileCompletions)
	_ = c.MarkFlagDirname("places")
	c.AddCommand(repair.NewCopies(f))
	return c
}

func (s *command) run(ctx context.Context, names []string) error {
	if err := repair.CheckSearch(s.limit, s.versions, names); err != nil {
		return err
	}
	places, err := start.Places(s.places)
	if err != nil {
		return err
	}
	cluster, err := s.Cluster()
	if err != nil {
		return err
	}
	targets, note, err := cluster.LeavingVersions(ctx, names, s.Selector(), s.versions)
	if err != nil {
		return cli.ReadError(err)
	}
	if len(targets) == 0 {
		return fmt.Errorf("no CRD carries the label %s; name the CRDs to look for", s.Selector())
	}
	leaveOut := map[string]string{}
	if !s.secrets {
		leaveOut[string(survivors.Secrets)] = "Secrets are read only with --secrets"
	}
	report, err := cluster.Survivors(ctx, inspect.SurvivorSearch{
		Targets: targets, Places: places, LeaveOut: leaveOut, Everything: s.everything, Most: s.limit, Tell: progress.NewObjects(s.ErrOut).Tell,
	})
	if err != nil {
		return cli.ReadError(err)
	}
	report.Targets = targets
	if note != "" {
		report.Notes = append(report.Notes, note)
	}
	if err := s.print(report); err != nil {
		return err
	}
	return cli.EndedBy(report.Verdict == survivors.StillNamed, report.Verdict == survivors.NotKnown)
}
