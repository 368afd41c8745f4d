// Package version is `moult version`.
package version

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Long:              "Print the version of this program, and the commit that it was built from with its date, where the build knows them.",
		Example:           "  moult version",
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(f.Out, "moult %s\n", start.Version())
			return err
		},
	}
}
