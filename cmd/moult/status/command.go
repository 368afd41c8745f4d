// Package status is `moult status`: how far CRDs are migrated, once or until they are.
package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/words"
)

type command struct {
	*cli.Factory
	output string
	watch  bool
	// warnings are about the rows read last: labels that are not in Git.
	warnings []string
}

// document is what -o json and -o yaml print.
type document struct {
	// Migrated is true when there are CRDs and all of them are migrated.
	Migrated bool  `json:"migrated"`
	CRDs     []row `json:"crds"`
	// Warnings are sentences about opt-in labels that a sync or a rebuilt cluster loses.
	Warnings []string `json:"warnings,omitempty"`
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	s := &command{Factory: f}
	c := &cobra.Command{
		Use:   "status [CRD...]",
		Short: "Show how far CRDs are migrated",
		Long: `Show the storage version, status.storedVersions and the migration of the named
CRDs, or of all that are opted in.

The counts are those of the condition StorageMigrated, which moult-controller
refreshes every 10 % and at most every 10 seconds. A CRD is migrated when the
condition is True and speaks of the CRD as it is now.

` + f.ExitCodes(cli.Codes{Done: "every CRD asked for is migrated", NotDone: "at least one is not"}) + `

If no CRD is opted in, or a named one is not, nothing is known to be migrated and
the exit code is 1. With --watch it is 0 as soon as all are migrated.`,
		Example: f.Example(`  # all opted-in CRDs
  moult status

  # two of them, with what the controller says about each
  moult status widgets.example.com gadgets.example.com -o wide

  # progress bars until all are migrated
  moult status --watch

  # is everything migrated? in a pipeline
  moult status widgets.example.com >/dev/null && echo yes`),
		ValidArgsFunction: f.CompleteCRDs,
		RunE:              func(c *cobra.Command, names []string) error { return s.run(c.Context(), words.Distinct(names)) },
	}
	c.Flags().StringVarP(&s.output, "output", "o", "", "json, yaml or wide")
	c.Flags().BoolVarP(&s.watch, "watch", "w", false, "redraw until all are migrated or Ctrl-C")
	cli.OneOf(c, "output", "json", "yaml", "wide")
	return c
}

func (s *command) run(ctx context.Context, names []string) error {
	if err := s.validate(); err != nil {
		return err
	}
	cluster, err := s.Cluster()
	if err != nil {
		return err
	}
	if s.watch {
		return s.follow(ctx, cluster, names)
	}
	rows, incomplete := s.rows(ctx, cluster, names)
	if incomplete != nil && len(rows) == 0 {
		return incomplete
	}
	if err := errors.Join(s.print(rows, incomplete == nil), incomplete); err != nil {
		return err
	}
	return s.verdict(rows)
}

func (s *command) validate() error {
	if s.watch && s.output != "" {
		return errors.New("--watch draws progress bars; leave out -o, or leave out --watch and ask again")
	}
	return nil
}

// rows reads what is asked for. With an error there may be some of the rows.
func (s *command) rows(ctx context.Context, cluster *inspect.Cluster, names []string) ([]row, error) {
	rows := []row{}
	s.warnings = nil
	for crd, err := range cluster.ReadCRDs(ctx, names, s.Selector()) {
		if err != nil {
			return rows, cli.ReadError(err)
		}
		rows = append(rows, rowOf(crd, s.LabelKey))
		if v := labelorigin.Of(crd, s.LabelKey); v.Origin == labelorigin.LiveOnly {
			s.warnings = append(s.warnings, fmt.Sprintf("%s: the label %s is %s", crd.Name, s.LabelKey, v))
		}
	}
	return rows, nil
}

// print shows the rows, which are complete if they are all that was asked for.
func (s *command) print(rows []row, complete bool) error {
	if output.IsDocument(s.output) {
		return output.Print(s.Out, s.output, document{Migrated: complete && allMigrated(rows), CRDs: rows, Warnings: s.warnings})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := printTable(s.Out, rows, s.output == "wide"); err != nil {
		return err
	}
	for _, warning := range s.warnings {
		fmt.Fprintf(s.Out, "warning: %s\n", warning)
	}
	return nil
}

// verdict is what the exit code is to say about the rows.
func (s *command) verdict(rows []row) error {
	switch {
	case len(rows) == 0:
		return cli.NotDone{Sentence: "no CRD is opted in; " + s.howToOptIn("NAME")}
	case allMigrated(rows):
		return nil
	}
	if outsiders := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.OptedIn }); len(outsiders) > 0 {
		names := words.Of(outsiders, func(r row) string { return r.Name })
		return cli.NotDone{Sentence: fmt.Sprintf("not opted in: %s; %s", strings.Join(names, ", "), s.howToOptIn(names[0]))}
	}
	return cli.NotDone{} // the table says it all
}

// howToOptIn says how a CRD gets the label.
func (s *command) howToOptIn(crd string) string {
	return fmt.Sprintf("add the label %s: \"true\" to a CRD's manifest in Git, or try it with `kubectl label crd %s %s`", s.LabelKey, crd, s.Selector())
}
