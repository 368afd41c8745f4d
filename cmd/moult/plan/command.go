// Package plan is `moult plan`: what is done, what is next, and what each step risks, of one CRD of a cluster.
package plan

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/policies/words"
)

type command struct {
	*cli.Factory
	output, to, folder string
	versions           []string

	flags, clusterFlags []string // that were given, for the commands
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	p := &command{Factory: f}
	c := &cobra.Command{
		Use:   "plan CRD",
		Short: "Say what is done and what is next until old versions of a CRD are gone",
		Long: `Say for one CRD of this cluster which steps are done, which one is next, and what each
of them risks: with the change to commit, and the commands to run. It writes nothing.

Phase 1 can be done again, and taken back: serve both versions, rehearse, back up, opt in,
flip the storage version, migrate. Phase 2 is deliberate: change what else names the
versions, stop serving them, remove them with a VersionRemoval in the same commit, back up
again if that requires it, wait. docs/runbook.md says more.

What is to be stored is the newest version that is served, or --to. What is to leave is
what VersionRemovals name, else all other versions, or --version.

` + f.ExitCodes(cli.Codes{
			Done: "the plan is printed",
		}),
		Example: f.Example(`  moult plan widgets.example.com

  # with the folder of the CRD in the commands, for an issue or a pull request
  moult plan widgets.example.com --crds config/crd -o markdown

  # the next step, for a program
  moult plan widgets.example.com -o json | jq -r .next`),
		Args: func(_ *cobra.Command, names []string) error {
			if len(names) != 1 {
				return fmt.Errorf("name one CRD; `%s status` lists those that are opted in", f.Name)
			}
			return nil
		},
		ValidArgsFunction: f.CompleteCRDs(func() string { return "" }),
		RunE: func(c *cobra.Command, names []string) error {
			shared := c.InheritedFlags()
			c.Flags().Visit(func(flag *pflag.Flag) {
				if shared.Lookup(flag.Name) != nil {
					p.inherit(flag)
				}
			})
			return p.run(c.Context(), names[0])
		},
	}
	c.Flags().StringVar(&p.to, "to", "", "version that is to be stored; default: the newest that is served")
	c.Flags().StringSliceVar(&p.versions, "version", nil, "versions that are to leave, with commas between them; default: those of VersionRemovals, else all others")
	c.Flags().StringVar(&p.folder, "crds", "config/crd", "folder of the CRD in Git, for the commands")
	c.Flags().StringVarP(&p.output, "output", "o", "text", "text, markdown, json or yaml")
	output.Complete(c, "text", "markdown", "json", "yaml")
	_ = c.MarkFlagDirname("crds")
	_ = c.RegisterFlagCompletionFunc("to", cobra.NoFileCompletions)
	_ = c.RegisterFlagCompletionFunc("version", cobra.NoFileCompletions)
	return c
}

// inherit has the commands name the same cluster, user and label.
func (p *command) inherit(flag *pflag.Flag) {
	values := []string{flag.Value.String()}
	if list, is := flag.Value.(pflag.SliceValue); is {
		values = list.GetSlice()
	}
	for _, value := range values {
		if flag.Name == "label-key" {
			p.flags = append(p.flags, "--"+flag.Name, value)
		} else {
			p.clusterFlags = append(p.clusterFlags, "--"+flag.Name, value)
		}
	}
}

func (p *command) run(ctx context.Context, name string) error {
	if p.output != "text" && p.output != "markdown" && !output.IsDocument(p.output) {
		return fmt.Errorf("-o %s is none of text, markdown, json, yaml", p.output)
	}
	cluster, err := p.Cluster()
	if err != nil {
		return err
	}
	o := runbook.Observation{LabelKey: p.LabelKey, To: p.to, Leaving: words.Distinct(p.versions), Program: p.Name, Flags: p.flags, ClusterFlags: p.clusterFlags, Folder: p.folder, Now: time.Now()}
	for crd, err := range cluster.GetCRDs(ctx, []string{name}) {
		if err != nil {
			return cli.ReadError(err)
		}
		o.CRD = crd
	}
	o.Removals, o.NoRemovals = cluster.RemovalsOf(ctx, name)
	plan, err := runbook.Of(o)
	if err != nil {
		return err
	}
	if output.IsDocument(p.output) {
		return output.Print(p.Out, p.output, plan)
	}
	render := asText
	if p.output == "markdown" {
		render = asMarkdown
	}
	_, err = io.WriteString(p.Out, render(plan))
	return err
}
