package repair

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/survivors"
)

// ownersCommand is what a person wants to be done about owner references.
type ownersCommand struct {
	command

	orphans bool
	targets []owners.Target
}

func newOwners(f *cli.Factory) *cobra.Command {
	r := &ownersCommand{command: command{Factory: f}}
	c := &cobra.Command{
		Use:   "owners [CRD...]",
		Short: "Move owner references from versions that are removed, or will be, to the storage version",
		Long: `Look through all objects of the cluster for owner references to objects of the named
CRDs, or of all that are opted in. References at versions that are to be removed, or are
removed already, get the storage version in their apiVersion. Nothing else is changed: the
uid, the name, the kind and the flags of a reference stay, and so does its owner in
managedFields. Nothing is deleted.

The garbage collector resolves an owner at the version of the reference. Once that is
not served any more, it deletes dependents whose owner lives, keeps others that it should
delete, and leaves owners in foreground deletion Terminating. So run this before
served: false. Later it repairs what remains. Where an owner is being deleted already, its
dependents are then deleted, too, as was asked for.

The versions are those of --version. Without it, they are those that the CRD does not
serve, and those that VersionRemovals of it name, or, if none does, all but the storage
version.

A write is refused if the object is not as it was read; it is then read again. All
objects are listed until a list has no such reference. What comes back is named with the
field manager that writes it. A reference whose owner does not exist is left and reported:
once moved, it makes the garbage collector delete the object; --orphans moves it, too.

It needs get, list and patch on all resources that have owners, and get on the objects of
the CRDs. It lists only metadata. What it writes may be read whole before, also a Secret,
and sent as a dry run. If admission or its CRD would take a field from it, it is left
and named. The CRD of such an object has to stay as it is for --settle first. What may not
be listed or written is named. Where the admission plugin OwnerReferencesPermissionEnforcement
is on, it needs delete on the objects, too.

If it is interrupted, nothing is lost: the same command continues with what remains.

` + f.ExitCodes(cli.Codes{
			Done:    "none is left; with --dry-run: no write would be refused",
			NotDone: "some are left: refused, forbidden, without an owner, or written back",
			Unknown: "none that was found is left, and not everything could be looked at",
		}),
		Example: f.Example(`  # what would be moved, and would it be refused?
  moult repair owners widgets.example.com --dry-run

  # before v1alpha1 is not served any more, or later
  moult repair owners widgets.example.com --version v1alpha1

  # all opted-in CRDs, at 20 writes a second
  moult repair owners --max-rate 20

  # who would write the version again?
  moult repair owners widgets.example.com --dry-run -o json | jq '.writers'`),
	}
	r.bind(c, "references", func() (task, error) { return task{Kind: &owners.Kind, find: r.find, move: r.move}, nil })
	c.Flags().BoolVar(&r.orphans, "orphans", false, "move references whose owner does not exist, too; the garbage collector then deletes what has no other owner")
	return c
}

func (r *ownersCommand) find(ctx context.Context, cluster *inspect.Cluster, names, versions []string) (targets any, lines []string, note string, err error) {
	all, from, note, err := cluster.Owners(ctx, names, r.Selector(), versions)
	for i := range all {
		lines = append(lines, ownerSubject(&all[i], from[i]))
	}
	r.targets = all
	return all, lines, note, err
}

// ownerSubject is a CRD, and where references to its objects are moved from and to.
func ownerSubject(t *owners.Target, from survivors.From) string {
	const unserved = "versions that it does not serve"
	leaving := strings.Join(t.Leaving, ", ")
	switch {
	case leaving == "":
		return fmt.Sprintf("%s: from %s to %s", t.CRD, unserved, t.Storage)
	case from == survivors.Asked:
		return fmt.Sprintf("%s: from %s (--version) to %s", t.CRD, leaving, t.Storage)
	case from == survivors.Removals:
		return fmt.Sprintf("%s: from %s (VersionRemovals name them) and %s to %s", t.CRD, leaving, unserved, t.Storage)
	default:
		return fmt.Sprintf("%s: from %s (no VersionRemoval names a version, so all but the storage version) and %s to %s", t.CRD, leaving, unserved, t.Storage)
	}
}

func (r *ownersCommand) move(ctx context.Context, cfg *rest.Config, cluster *inspect.Cluster, work repairs.Work) (repairs.Report, error) {
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return repairs.Report{}, err
	}
	client, err := rewrite.NewClient(cfg, httpClient)
	if err != nil {
		return repairs.Report{}, err
	}
	losses, err := r.losses(cfg, httpClient)
	if err != nil {
		return repairs.Report{}, err
	}
	r.starting(cfg, &owners.Kind)
	return (&owners.Repair{Work: work, Targets: r.targets, Client: client, Orphans: r.orphans, Lister: r.pages(cluster), Losses: losses}).Run(ctx)
}
