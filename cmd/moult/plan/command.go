// Package plan is `moult plan`: what is done, what is next, and what each step risks, of one CRD of a cluster.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/engines"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/policies/words"
)

type command struct {
	*cli.Factory
	output, to, folder string
	versions           []string
	backTo, release    string
	rehearse           bool

	flags, clusterFlags []string // that were given, for the commands
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	p := &command{Factory: f}
	c := &cobra.Command{
		Use:   "plan CRD [--back-to VERSION]",
		Short: "Say what is done and what is next until old versions of a CRD are gone",
		Long:  long(f),
		Example: f.Example(`  moult plan widgets.example.com

  # with the folder of the CRD in the commands, for an issue or a pull request
  moult plan widgets.example.com --crds config/crd -o markdown

  # the next step, for a program
  moult plan widgets.example.com -o json | jq -r .next

  # back to the release before, which stored at v1alpha1
  moult plan widgets.example.com --back-to v1alpha1 --release git:v1.2.0:config/crd`),
		Args: func(_ *cobra.Command, names []string) error {
			if len(names) > 1 {
				return fmt.Errorf("a plan is of one CRD; plan %s one after the other", strings.Join(names, " and "))
			}
			if len(names) == 0 {
				return fmt.Errorf("name one CRD; `%s status` lists those that are opted in", f.Name)
			}
			return nil
		},
		ValidArgsFunction: f.CompleteCRDs,
		RunE: func(c *cobra.Command, names []string) error {
			p.rehearse = p.rehearse || p.backTo != "" && !c.Flags().Changed("rehearse")
			shared := c.InheritedFlags()
			c.Flags().Visit(func(flag *pflag.Flag) {
				if shared.Lookup(flag.Name) != nil {
					p.inherit(flag)
				}
			})
			return p.run(c, names[0])
		},
	}
	c.Flags().StringVar(&p.to, "to", "", "version that is to be stored; default: the newest that is served")
	c.Flags().StringSliceVar(&p.versions, "version", nil, "versions that are to be removed, with commas between them; default: those of VersionRemovals, else all others")
	c.Flags().StringVar(&p.backTo, "back-to", "", "older version that is to be stored again: plan the way back to it")
	c.Flags().StringVar(&p.release, "release", "", "with --back-to: where the CRDs of the release to go back to are; needed if the CRD does not list the version any more")
	c.Flags().BoolVar(&p.rehearse, "rehearse", false, "read all objects and list what they would lose, and what would be refused; default with --back-to")
	c.Flags().StringVar(&p.folder, "crds", "config/crd", "folder of the CRD in Git, for the commands")
	c.Flags().StringVarP(&p.output, "output", "o", "text", "text, markdown, json or yaml")
	cli.OneOf(c, "output", "text", "markdown", "json", "yaml")
	_ = c.MarkFlagDirname("crds")
	for _, version := range []string{"to", "back-to"} {
		_ = c.RegisterFlagCompletionFunc(version, cobra.NoFileCompletions)
	}
	_ = c.RegisterFlagCompletionFunc("version", cobra.NoFileCompletions)
	return c
}

// long is the help text.
func long(f *cli.Factory) string {
	return `Say for one CRD of this cluster which steps are done, which one is next, and what each
of them risks. The change to commit and the commands to run are there, too. Nothing is
written.

Phase 1 can be done again, and taken back: serve both versions, rehearse, back up, opt in,
flip the storage version, migrate. Phase 2 is deliberate: change what else names the
versions, stop serving them, remove them with a VersionRemoval in the same commit, back up
again if that requires it, wait. docs/runbook.md says more.

What is to be stored is the newest version that is served, or --to. What is to be removed is
what VersionRemovals name, else all other versions, or --version. With --rehearse, all objects
are read, and the API server's own code shows what they would lose, and what would be refused.

With --back-to VERSION, these are the steps of the way back to an older version, from the newer
one that is stored. They are rehearsed first; --rehearse=false leaves that out. If the CRD does not list the version any
more, --release names the CRDs of a release that stored at it: a folder, a file, git:REV:PATH, or
a backup. Then the CRD between is part of the steps, as ` + "`moult bridge`" + ` prints it.

` + f.ExitCodes(cli.Codes{
		Done: "the plan is printed",
	})
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

func (p *command) run(c *cobra.Command, name string) error {
	o, err := p.observe(c, name)
	if err != nil {
		return err
	}
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

func (p *command) observe(c *cobra.Command, name string) (o runbook.Observation, err error) {
	back, err := p.back(c, name)
	if err != nil {
		return o, err
	}
	cluster, err := p.Cluster()
	if err != nil {
		return o, err
	}
	o = runbook.Observation{
		LabelKey: p.LabelKey, To: cmp.Or(p.backTo, p.to), Leaving: words.Distinct(p.versions), Return: back,
		Program: p.Name, Flags: p.flags, ClusterFlags: p.clusterFlags, Folder: p.folder, Now: time.Now(),
	}
	for crd, err := range cluster.GetCRDs(c.Context(), []string{name}) {
		if err != nil {
			return o, cli.ReadError(err)
		}
		o.CRD = crd
	}
	o.Removals, o.NoRemovals = cluster.RemovalsOf(c.Context(), name)
	if p.rehearse {
		err = p.rehearsed(c.Context(), cluster, &o)
	}
	return o, err
}

// back is the way back that the flags ask for; nil if they ask for none.
func (p *command) back(c *cobra.Command, name string) (*runbook.Return, error) {
	switch {
	case p.backTo == "" && p.release != "":
		return nil, errors.New("--release is where to go back to; name the version with --back-to")
	case p.backTo == "":
		return nil, nil
	case p.to != "":
		return nil, errors.New("--to is the way forth and --back-to the way back; leave one out")
	}
	back := &runbook.Return{Place: p.release, Context: p.CurrentContext()}
	if p.release == "" {
		return back, nil
	}
	found, err := input.CRDs(c.Context(), p.release, c.InOrStdin(), name)
	if err != nil {
		return nil, fmt.Errorf("--release: %w", err)
	}
	back.Release = found[0]
	return back, nil
}

// rehearsed finds out what becomes of the objects when they are stored at the other version, by the flip, and on the way back by the
// CRD of the release. A webhook is not asked: `moult rehearse` asks it.
func (p *command) rehearsed(ctx context.Context, cluster *inspect.Cluster, o *runbook.Observation) error {
	all, err := runbook.Rehearsals(o)
	if err != nil {
		return err
	}
	for _, r := range all {
		e, err := conversion.New(r.CRD)
		if err != nil {
			return err
		}
		tally := conversion.NewTally()
		live := engines.Live{Cluster: cluster, LabelKey: p.LabelKey, Tell: progress.NewObjects(p.ErrOut).Tell}
		if len(r.ReadAt) == 0 {
			r.ReadAt = engines.StoredAt(o.CRD, e, p.LabelKey)
		}
		live.RehearseAt(ctx, o.CRD, r.ReadAt, e, tally)
		report := tally.Report(nil)
		*r.Report = &report
	}
	return ctx.Err()
}
