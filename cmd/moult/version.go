package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/internal/start"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.out, "moult %s\n", start.Version())
			return err
		},
	}
}
