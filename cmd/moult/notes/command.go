// Package notes is `moult notes`: the release notes that users of CRDs need.
package notes

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/releasenotes"
)

// command writes release notes.
type command struct {
	*cli.Factory
	base, head, output string
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	n := &command{Factory: f}
	c := &cobra.Command{
		Use:   "notes --base PATH --head PATH",
		Short: "Write the release notes that users of your CRDs need",
		Long: `Compare the CRDs of two releases and write what their users have to know. The notes
list which fields are new, changed, deprecated or removed in each version. They say
whether the order of the upgrade matters, what to try before, and how stored objects get
to the new storage version. No cluster is asked.

PATHs are folders, which are built as Flux builds them, files, git:REV:PATH, or - for
standard input.

` + f.ExitCodes(cli.Codes{
			Done: "the notes are printed, also if nothing has changed",
		}),
		Example: f.Example(`  moult notes --base git:v1.2.0:config/crd --head config/crd

  # what Helm renders
  helm template widgets ./chart --include-crds | moult notes --base crds-1.2.0.yaml --head -

  # for programs
  moult notes --base git:v1.2.0:config/crd --head config/crd -o json`),
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return n.run(c.Context(), c.InOrStdin()) },
	}
	c.Flags().StringVar(&n.base, "base", "", "where the CRDs of the release before are: a folder, a kustomization, a file, git:REV:PATH, or -")
	c.Flags().StringVar(&n.head, "head", "", "where the CRDs of the new release are")
	c.Flags().StringVarP(&n.output, "output", "o", "markdown", "markdown or json")
	cli.OneOf(c, "output", "markdown", "json")
	return c
}

func (n *command) validate() error {
	switch {
	case n.base == "":
		return errors.New("name the release before with --base: a folder, a kustomization, a file, git:REV:PATH, or - for standard input")
	case n.head == "":
		return errors.New("name the new release with --head: a folder, a kustomization, a file, git:REV:PATH, or - for standard input")
	case n.base == "-" && n.head == "-":
		return errors.New("only one of --base and --head can be standard input")
	}
	return nil
}

func (n *command) run(ctx context.Context, stdin io.Reader) error {
	if err := n.validate(); err != nil {
		return err
	}
	base, err := input.AnyCRDs(ctx, n.base, stdin)
	if err != nil {
		return fmt.Errorf("--base: %w", err)
	}
	head, err := input.AnyCRDs(ctx, n.head, stdin)
	if err != nil {
		return fmt.Errorf("--head: %w", err)
	}
	if len(base)+len(head) == 0 {
		return fmt.Errorf("there is no CustomResourceDefinition in %s or %s; name the folders that hold some", n.base, n.head)
	}
	written := releasenotes.Make(n.base, n.head, crddiff.Sets(base, head, n.LabelKey), n.LabelKey)
	if n.output == "json" {
		return output.Print(n.Out, n.output, written)
	}
	_, err = io.WriteString(n.Out, written.Markdown())
	return err
}
