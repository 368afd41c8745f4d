// Package repair is `moult repair`: what outlives a version is moved to one that stays. `moult repair owners` moves owner
// references.
package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/policies/words"
)

// command is what a person wants to be moved.
type command struct {
	*cli.Factory
	output   string
	versions []string
	dryRun   bool
	orphans  bool
	limit    int
	pace     migration.Options
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{Use: "repair", Short: "Move what outlives a version to one that stays"}
	c.AddCommand(newOwners(f))
	return cli.OnlySubcommands(c)
}

func newOwners(f *cli.Factory) *cobra.Command {
	r := &command{Factory: f}
	c := &cobra.Command{
		Use:   "owners [CRD...]",
		Short: "Move owner references from versions that leave, or have left, to the storage version",
		Long: `Look through all objects of the cluster for owner references to objects of the named
CRDs, or of all that are opted in, at versions that are to leave or have left, and write
the storage version into their apiVersion. Nothing else is changed: the uid, the name,
the kind and the flags of a reference stay, and so does who owns it in managedFields.
Nothing is deleted.

The garbage collector resolves an owner at the version of the reference. Once that has
left, it deletes dependents whose owner lives, keeps others that should go, and leaves
owners in foreground deletion Terminating. This fixes it, before the removal and after.
Where an owner is being deleted already, its dependents then go, too, as was asked for.

The versions are those of --version; else those that VersionRemovals of the CRD name, or
where none does all but the storage version, and those that the CRD does not have.

A write is refused if the object is not as it was read; it is then read again. All
objects are listed until a list has none left. What comes back is named with the field
manager that writes it. A reference whose owner does not exist is left and named: once
moved, it makes the garbage collector delete the object; --orphans moves it, too.

It needs list and patch on all resources that have owners, of which only the metadata
are read, of Secrets too, and get on the objects of the CRDs. What may not be listed or
written is named. Where the admission plugin OwnerReferencesPermissionEnforcement is on,
it needs delete on the objects, too.

Interrupted, nothing is lost: the same command goes on with what is left.

` + f.ExitCodes(cli.Codes{
			Done:    "none is left; with --dry-run: no write would be refused",
			NotDone: "some are left: refused, forbidden, without an owner, or written back",
			Unknown: "none that was found is left, and not everything could be looked at",
		}),
		Example: f.Example(`  # what would be moved, and would it be refused?
  moult repair owners widgets.example.com --dry-run

  # before the removal of v1alpha1, or after it
  moult repair owners widgets.example.com --version v1alpha1

  # all opted-in CRDs, at 20 writes a second
  moult repair owners --max-rate 20

  # who would write the version again?
  moult repair owners widgets.example.com --dry-run -o json | jq '.writers'`),
		ValidArgsFunction: f.CompleteCRDs(func() string { return "" }),
		RunE: func(c *cobra.Command, names []string) error {
			return r.run(c.Context(), words.Distinct(names))
		},
	}
	r.bind(c)
	return c
}

func (r *command) bind(c *cobra.Command) {
	c.Flags().StringSliceVar(&r.versions, "version", nil, "versions that are to leave, or have left; may be given several times")
	c.Flags().BoolVar(&r.dryRun, "dry-run", false, "write nothing; the API server checks every write")
	c.Flags().BoolVar(&r.orphans, "orphans", false, "move references whose owner does not exist, too; the garbage collector then deletes what has no other owner")
	c.Flags().IntVar(&r.limit, "limit", 100, "most references that are named of each sort; all are counted; 0 for all")
	c.Flags().IntVar(&r.pace.MaxInFlight, "max-in-flight", migration.DefaultMaxInFlight, "most writes under way at any moment; below that their number adapts to what the API server can take")
	c.Flags().Float64Var(&r.pace.MaxQueued, "max-queued", throttle.DefaultMaxQueued, "most writes that wait inside the API server, on average")
	c.Flags().Float64Var(&r.pace.MaxRate, "max-rate", 0, "most writes per second; 0 is no bound")
	output.AddFlag(c, &r.output)
	_ = c.RegisterFlagCompletionFunc("version", cobra.NoFileCompletions)
}

func (r *command) validate(names []string) error {
	r.pace.LabelKey, r.pace.Settle = r.LabelKey, migration.DefaultSettle
	if err := start.Check(r.pace); err != nil {
		return err
	}
	if err := output.CheckFormat(r.output); err != nil {
		return err
	}
	if r.limit < 0 {
		return fmt.Errorf("--limit %d is below 0; 0 is for all", r.limit)
	}
	if len(r.versions) > 0 && len(names) == 0 {
		return errors.New("--version is about CRDs that are named; name at least one")
	}
	return nil
}

func (r *command) run(ctx context.Context, names []string) error {
	if err := r.validate(names); err != nil {
		return err
	}
	cfg, err := r.ConfigToWrite(r.dryRun)
	if err != nil {
		return err
	}
	cluster, err := inspect.Connect(cfg)
	if err != nil {
		return err
	}
	targets, from, note, err := cluster.Owners(ctx, names, r.Selector(), words.Distinct(r.versions))
	if err != nil {
		return cli.ReadError(err)
	}
	if len(targets) == 0 {
		return fmt.Errorf("no CRD carries the label %s; name the CRDs of the owners", r.Selector())
	}
	d := document{DryRun: r.dryRun, Targets: targets, from: from}
	if note != "" {
		d.Notes = append(d.Notes, note)
	}
	if err := r.move(ctx, cfg, cluster, &d); err != nil {
		return err
	}
	if err := r.print(d); err != nil {
		return err
	}
	return d.ending()
}

// move does the work. The error of an interruption says how to go on.
func (r *command) move(ctx context.Context, cfg *rest.Config, cluster *inspect.Cluster, d *document) error {
	work, unseen, err := r.prepare(cfg, cluster, d.Targets)
	if err != nil {
		return cli.ReadError(err)
	}
	if !r.dryRun {
		fmt.Fprintf(r.ErrOut, "moving owner references in the cluster at %s\n", cfg.Host)
	}
	d.Report, err = work.Run(ctx)
	for group, why := range unseen {
		d.NotLooked = append(d.NotLooked, owners.NotLooked{Resource: "*." + group, Why: why})
	}
	slices.SortFunc(d.NotLooked, func(a, b owners.NotLooked) int { return cmp.Compare(a.Resource, b.Resource) })
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted after %s; nothing is lost: what was moved stays so, and the same command goes on from there", words.Count(d.Moved, "reference"))
	}
	d.Verdict = d.verdict()
	return err
}

func (r *command) prepare(cfg *rest.Config, cluster *inspect.Cluster, targets []owners.Target) (work *owners.Repair, unseen map[string]string, err error) {
	resources, unseen, err := cluster.Resources()
	if err != nil {
		return nil, nil, err
	}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, nil, err
	}
	client, err := rewrite.NewClient(cfg, httpClient)
	if err != nil {
		return nil, nil, err
	}
	return &owners.Repair{
		Targets: targets, Resources: resources, Client: client, DryRun: r.dryRun, Orphans: r.orphans, Most: r.limit,
		Lister: inspect.Pages{Cluster: cluster, Tell: progress.NewObjects(r.ErrOut).Tell}, Lane: r.pace.NewPace().Lane(),
	}, unseen, nil
}
