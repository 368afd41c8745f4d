// Package test is `moult test`: what an operator's own repository can hold its conversion to.
package test

import (
	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	test := &cobra.Command{
		Use:   "test",
		Short: "Test the conversion of CRDs, in the CI of an operator's repository",
		Long: `Test the conversion of CRDs, in the CI of an operator's repository, in whatever language
its webhook is written:

  conversion  take fixtures and made objects to each version and back
  record      write the fixtures of a release`,
	}
	test.AddCommand(newConversion(f), newRecord(f))
	return cli.OnlySubcommands(test)
}
