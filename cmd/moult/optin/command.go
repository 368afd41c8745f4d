// Package optin is `moult opt-in`: the opt-in Component, added to a kustomization or printed.
package optin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/api/v1alpha1"
	optincomponent "github.com/moult-dev/moult/clusters/components/opt-in"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// command adds the opt-in Component to a kustomization, or prints it.
type command struct {
	*cli.Factory
	print     string
	dryRun    bool
	folder    string
	ref       string
	selection selection
}

// vendorFolder is where the Component goes without --folder.
const vendorFolder = "moult-opt-in"

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	o := &command{Factory: f}
	c := &cobra.Command{
		Use:   "opt-in PATH",
		Short: "Add the opt-in label, in Git, to the CRDs that a kustomization builds",
		Long:  long(f),
		Example: f.Example(`  # what would change?
  moult opt-in config/crd --dry-run

  moult opt-in config/crd

  # one Component for the whole repository
  moult opt-in clusters/a/crds --folder components/moult-opt-in

  # some of the CRDs only
  moult opt-in config/crd --crds '.*\.example\.com'

  # for the spec of a Flux Kustomization
  moult opt-in --print flux`),
		Args:              o.arguments,
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(c *cobra.Command, args []string) error {
			if o.print != "" {
				return o.printSnippet()
			}
			return o.add(c.Context(), args[0])
		},
	}
	c.Flags().StringVar(&o.print, "print", "", "print only: "+strings.Join(snippets, ", "))
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "write nothing; show what would change")
	c.Flags().StringVar(&o.folder, "folder", "", "folder of the Component, from here; default: "+vendorFolder+" beside the kustomization")
	c.Flags().StringVar(&o.ref, "ref", "", "tag or commit of Moult's repository to refer to, instead of a folder")
	c.Flags().StringVar(&o.selection.names, "crds", "", "label only CRDs whose whole name matches this regular expression")
	c.Flags().StringVar(&o.selection.annotations, "annotated", "", "label only CRDs whose annotations match this selector, as in team=a")
	cli.OneOf(c, "print", snippets...)
	_ = c.MarkFlagDirname("folder")
	return c
}

// long is the help text.
func long(f *cli.Factory) string {
	return `Add the opt-in Component to a kustomization: it puts the label ` + v1alpha1.MigrateLabel + `
on the CRDs that the kustomization builds, and on nothing else. PATH is the folder
of the kustomization, or its file. Comments and order are kept, and a kustomization
that has the Component already is left as it is.

The Component is written into a folder of its own beside the kustomization, so a
build fetches nothing. --folder names another place, and if the Component is there
already, it is shared; --ref refers to Moult's own repository instead. If the
kustomization sets the label already, nothing is written, and flags that ask for
something else are named.

A CRD that carries the label with the value "false" is left alone. --crds and
--annotated choose some of the CRDs.

With --print nothing is written. It prints the Component, or a patch that does the
same. The patch is for a kustomization, or, where the repository with the CRDs is
somebody else's, for the spec of an Argo CD Application or a Flux Kustomization.

` + f.ExitCodes(cli.Codes{
		Done:    "CRDs that are built from there carry the label; with --dry-run, they would",
		NotDone: "there is no CRD that the Component and the flags match, or what sets the\nlabel already leaves one of them out, and nothing was written",
	})
}

func (o *command) arguments(c *cobra.Command, args []string) error {
	o.selection.labelKey = o.LabelKey
	switch {
	case o.print != "" && (len(args) > 0 || o.dryRun || o.folder != "" || o.ref != ""):
		return errors.New("--print cannot be combined with PATH, --dry-run, --folder or --ref, because it writes nothing")
	case o.print == "" && len(args) != 1:
		return fmt.Errorf("name one PATH, the folder of a kustomization, or print with --print; see %s --help", c.CommandPath())
	case o.ref != "" && (o.folder != "" || !o.selection.everything()):
		return errors.New("--ref refers to the Component as it is in Moult's repository, so it goes with neither --folder, --crds, --annotated nor --label-key")
	}
	return o.selection.check()
}

// component is the Component that does what the flags ask for.
func (o *command) component() ([]byte, error) {
	if o.selection.everything() {
		return optincomponent.Component, nil
	}
	return o.selection.component()
}
