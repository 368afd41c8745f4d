package main

import (
	"github.com/spf13/cobra"
)

func newCheck(a *app) *cobra.Command {
	check := &cobra.Command{
		Use:   "check",
		Short: "Check that what Moult relies on is in place",
	}
	check.AddCommand(newCheckArgoCD(a))
	return check
}
