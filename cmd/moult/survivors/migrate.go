package survivors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// migrate is what a person wants to be moved.
type migrate struct {
	*cli.Factory
	output   string
	versions []string
	dryRun   bool
	takeOver bool
	save     string
	limit    int
	places   string
	pace     migration.Options

	known    []survivors.Place
	forwards *converters.Forwards // to the Services of conversion webhooks
}

func newMigrate(f *cli.Factory) *cobra.Command {
	m := &migrate{Factory: f}
	c := &cobra.Command{
		Use:   "migrate [CRD...]",
		Short: "Move stashed copies to a version that stays",
		Long: `Look through the cluster for stashed copies of objects of the named CRDs, or of all that
are opted in, at versions that are to leave, and move them, where it is known how:
KubeVirt's instance types and preferences, stashed in ControllerRevisions of
VirtualMachines and of their snapshots, and what places of your own declare (--places).
docs/survivors.md has how each is converted.
The controller does the same for CRDs with the annotation moult.dev/migrate-stashes.

The data of a ControllerRevision cannot be changed. So each gets a successor with the
converted copy, the same labels and owners, and the name that KubeVirt would give it;
whatever names the old one is made to name the successor; and once a look at
everything that can name it finds nothing, the old one is written to the file of
--save and deleted. Moult deletes nothing but such copies. To have one back, run
kubectl create -f with the file.

A write is refused if the object is not as it was read; it is then read again. A copy
that cannot be decoded, that something names that cannot be changed, or that somebody
applies the name of, is left and named, and so is all of a namespace in which a
snapshot or a restore is under way. What virt-controller moves by itself is left to
it; --take-over moves that, too.

It needs list and get on ControllerRevisions and on what names them, create and delete
on ControllerRevisions, and patch on what names them.

Interrupted, nothing is lost: the same command, with the same file, goes on. What
something has named meanwhile is made again from the file.

` + f.ExitCodes(cli.Codes{
			Done:    "none is left; with --dry-run: no write would be refused",
			NotDone: "some are left",
			Unknown: "none that was found is left, and not everything could be looked at",
		}),
		Example: f.Example(`  # what would be moved, and would it be refused?
  moult survivors migrate --dry-run virtualmachineinstancetypes.instancetype.kubevirt.io

  # all opted-in CRDs, with what is removed in a file
  moult survivors migrate --save removed.json

  # without waiting for virt-controller
  moult survivors migrate --save removed.json --take-over

  # what could not be moved, and why
  moult survivors migrate --dry-run -o json | jq '.left[] | {reason, count}'`),
		ValidArgsFunction: f.CompleteCRDs(func() string { return "" }),
		RunE: func(c *cobra.Command, names []string) error {
			return m.run(c.Context(), words.Distinct(names))
		},
	}
	m.bind(c)
	return c
}

func (m *migrate) bind(c *cobra.Command) {
	c.Flags().StringSliceVar(&m.versions, "version", nil, "versions that are to leave; may be given several times")
	c.Flags().BoolVar(&m.dryRun, "dry-run", false, "write nothing; the API server checks every write")
	c.Flags().StringVar(&m.save, "save", "", "file that each object is written to before it is deleted; one that exists is gone on with")
	c.Flags().BoolVar(&m.takeOver, "take-over", false, "move, too, what the project's own controller moves by itself")
	c.Flags().StringVar(&m.places, "places", "", "folder with places of one's own, one in each file that ends in .yaml")
	_ = c.MarkFlagDirname("places")
	c.Flags().IntVar(&m.limit, "limit", 100, "most copies that are named of each sort; all are counted; 0 for all")
	c.Flags().IntVar(&m.pace.MaxInFlight, "max-in-flight", migration.DefaultMaxInFlight, "most writes under way at any moment; below that their number adapts to what the API server can take")
	c.Flags().Float64Var(&m.pace.MaxQueued, "max-queued", throttle.DefaultMaxQueued, "most writes that wait inside the API server, on average")
	c.Flags().Float64Var(&m.pace.MaxRate, "max-rate", 0, "most writes per second; 0 is no bound")
	output.AddFlag(c, &m.output)
	_ = c.RegisterFlagCompletionFunc("version", cobra.NoFileCompletions)
}

func (m *migrate) validate(names []string) (err error) {
	m.pace.LabelKey, m.pace.Settle = m.LabelKey, migration.DefaultSettle
	if err := start.Check(m.pace); err != nil {
		return err
	}
	if err := (&command{output: m.output, limit: m.limit, versions: m.versions}).validate(names); err != nil {
		return err
	}
	if m.known, err = input.Places(m.places); err != nil {
		return err
	}
	switch {
	case m.save == "" && !m.dryRun:
		return errors.New("--save is missing: the file that each object is written to before it is deleted; --dry-run needs none")
	case m.save != "" && m.dryRun:
		return errors.New("--dry-run removes nothing, so there is nothing to --save")
	}
	return nil
}

func (m *migrate) run(ctx context.Context, names []string) error {
	if err := m.validate(names); err != nil {
		return err
	}
	cfg, err := m.ConfigToWrite(m.dryRun)
	if err != nil {
		return err
	}
	cluster, err := inspect.Connect(cfg)
	if err != nil {
		return err
	}
	targets, note, err := cluster.LeavingVersions(ctx, names, m.Selector(), m.versions)
	if err != nil {
		return cli.ReadError(err)
	}
	if len(targets) == 0 {
		return fmt.Errorf("no CRD carries the label %s; name the CRDs whose copies are to be moved", m.Selector())
	}
	d := migrated{DryRun: m.dryRun, Saved: m.save, Targets: targets}
	if note != "" {
		d.Notes = append(d.Notes, note)
	}
	if err := m.move(ctx, cfg, cluster, &d); err != nil {
		return err
	}
	if err := m.print(d); err != nil {
		return err
	}
	return d.ending()
}

// move does the work. The error of an interruption says how to go on.
func (m *migrate) move(ctx context.Context, cfg *rest.Config, cluster *inspect.Cluster, d *migrated) (err error) {
	if m.forwards, err = converters.NewForwards(cfg); err != nil {
		return err
	}
	defer m.forwards.Close()
	work, err := m.prepare(ctx, cfg, cluster, d.Targets)
	if err != nil {
		return cli.ReadError(err)
	}
	if !m.dryRun {
		file, err := embeddedcopies.OpenFile(m.save)
		if err != nil {
			return fmt.Errorf("--save: %w", err)
		}
		defer func() { _ = file.Close() }() // every write to it is on disk
		work.Journal = file
		fmt.Fprintf(m.ErrOut, "moving stashed copies in the cluster at %s\n", cfg.Host)
	}
	d.Report, err = work.Run(ctx)
	slices.SortFunc(d.NotLooked, func(a, b embeddedcopies.NotLooked) int { return cmp.Compare(a.Resource, b.Resource) })
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted after %s; nothing is lost: the same command with --save %s goes on from there", copies(d.Moved), m.save)
	}
	d.Verdict = d.verdict()
	return err
}

func (m *migrate) prepare(ctx context.Context, cfg *rest.Config, cluster *inspect.Cluster, targets []survivors.Target) (*embeddedcopies.Migration, error) {
	resources, unseen, err := cluster.Resources()
	if err != nil {
		return nil, err
	}
	types, err := cluster.Types(ctx, targets)
	if err != nil {
		return nil, err
	}
	paced := rest.CopyConfig(cfg)
	paced.QPS, paced.Burst = -1, -1 // the lane paces
	client, err := dynamic.NewForConfig(paced)
	if err != nil {
		return nil, err
	}
	return &embeddedcopies.Migration{
		Targets: targets, Places: m.known, Converter: &converters.Copies{GetCRD: cluster.GetCRD, Webhooks: converters.Webhooks{Services: m.forwards}}, Resources: resources, Unseen: unseen, Client: client, Mapper: cluster.Mapper(), Types: types,
		Lister: inspect.Pages{Cluster: cluster, Tell: progress.NewObjects(m.ErrOut).Tell}, Lane: m.pace.NewPace().Lane(),
		DryRun: m.dryRun, TakeOver: m.takeOver, Most: m.limit,
	}, nil
}
