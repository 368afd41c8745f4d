package main

import (
	"github.com/spf13/cobra"
)

func newCheck(a *app) *cobra.Command {
	check := &cobra.Command{
		Use:   "check",
		Short: "Check that what Moult relies on is in place",
		Long: `Check that what Moult relies on is in place. Argo CD has to be told about
VersionRemovals, and ` + "`check argocd`" + ` looks whether it is; Flux knows by itself and
needs no check.

Exit codes: 0 in place, 1 not in place, 2 the question could not be answered.`,
	}
	check.AddCommand(newCheckArgoCD(a))
	return onlySubcommands(check)
}
