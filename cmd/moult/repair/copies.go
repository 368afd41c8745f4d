package repair

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// copiesCommand is what a person wants to be done about stashed copies.
type copiesCommand struct {
	command

	takeOver bool
	save     string
	places   string

	known   []survivors.Place
	targets []survivors.Target
}

// NewCopies makes `moult survivors migrate`.
func NewCopies(f *cli.Factory) *cobra.Command {
	m := &copiesCommand{command: command{Factory: f}}
	c := &cobra.Command{
		Use:   "migrate [CRD...]",
		Short: "Move stashed copies to a version that stays",
		Long: `Look through the cluster for stashed copies of objects of the named CRDs, or of all that
are opted in, at versions that are to be removed, and move them. Moult can move KubeVirt's
instance types and preferences, stashed in ControllerRevisions of VirtualMachines and of
their snapshots, and what places of your own declare (--places). docs/survivors.md describes
how each is converted.
The controller does the same for CRDs with the annotation moult.dev/migrate-stashes.

The data of a ControllerRevision cannot be changed. So each gets a successor with the
converted copy, the same labels and owners, and the name that KubeVirt would give it.
Everything that names the old one is changed to name the successor. Then everything that
can name it is read again. If nothing does, the old one is written to the file of --save
and deleted. Moult deletes nothing but such copies. To have one back, run
kubectl create -f with the file.

A write is refused if the object is not as it was read; it is then read again. A copy is
left and reported if it cannot be decoded, if something that cannot be changed names it, or
if a client applies its name. The same goes for a whole namespace in which a snapshot or a
restore is under way. What virt-controller moves by itself is left to it; --take-over
moves that, too.

It needs list and get on ControllerRevisions and on what names them, create and delete
on ControllerRevisions, and patch on what names them.

If it is interrupted, nothing is lost: the same command, with the same file, continues.
What something has named meanwhile is made again from the file.

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
	}
	m.bind(c, "copies", m.task)
	c.Flags().StringVar(&m.save, "save", "", "file that each object is written to before it is deleted; an existing file is continued")
	c.Flags().BoolVar(&m.takeOver, "take-over", false, "move, too, what the project's own controller moves by itself")
	c.Flags().StringVar(&m.places, "places", "", "folder with places of your own, one in each file that ends in .yaml")
	_ = c.MarkFlagDirname("places")
	return c
}

// task is to move copies, if the flags go together.
func (m *copiesCommand) task() (t task, err error) {
	if m.known, err = start.Places(m.places); err != nil {
		return t, err
	}
	switch {
	case m.save == "" && !m.dryRun:
		return t, errors.New("--save is missing: the file that each object is written to before it is deleted; --dry-run needs none")
	case m.save != "" && m.dryRun:
		return t, errors.New("--dry-run removes nothing, so there is nothing to --save")
	}
	return task{Kind: &embeddedcopies.Kind, saved: m.save, find: m.find, move: m.move}, nil
}

func (m *copiesCommand) find(ctx context.Context, cluster *inspect.Cluster, names, versions []string) (targets any, lines []string, note string, err error) {
	m.targets, note, err = cluster.LeavingVersions(ctx, names, m.Selector(), versions)
	return m.targets, words.Of(m.targets, Subject), note, err
}

func (m *copiesCommand) move(ctx context.Context, cfg *rest.Config, cluster *inspect.Cluster, work repairs.Work) (none repairs.Report, err error) {
	services, stop, err := converters.ServicesOf(cfg)
	if err != nil {
		return none, err
	}
	defer stop()
	types, err := cluster.Types(ctx, m.targets)
	if err != nil {
		return none, cli.ReadError(err)
	}
	paced := rest.CopyConfig(cfg)
	paced.QPS, paced.Burst = -1, -1 // the lane paces
	httpClient, err := rest.HTTPClientFor(paced)
	if err != nil {
		return none, err
	}
	client, err := dynamic.NewForConfigAndClient(paced, httpClient)
	if err != nil {
		return none, err
	}
	losses, err := m.losses(cfg, httpClient)
	if err != nil {
		return none, err
	}
	job := &embeddedcopies.Migration{
		Work: work, Targets: m.targets, Places: m.known, Client: client, Mapper: cluster.Mapper(), Types: types, Lister: m.pages(cluster), TakeOver: m.takeOver, Losses: losses,
		Converter: &converters.Copies{GetCRD: cluster.GetCRD, Webhooks: converters.Webhooks{Services: services}},
	}
	if !m.dryRun {
		file, err := embeddedcopies.OpenFile(m.save)
		if err != nil {
			return none, fmt.Errorf("--save: %w", err)
		}
		defer func() { _ = file.Close() }() // every write to it is on disk
		job.Journal = file
	}
	m.starting(cfg, &embeddedcopies.Kind)
	return job.Run(ctx)
}
