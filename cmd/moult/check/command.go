// Package check is `moult check`: whether what Moult relies on is in place, in Git and in Argo CD, and whether an operator's
// releases keep what its users rely on.
package check

import (
	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/moult/check/versions"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	check := &cobra.Command{
		Use:   "check",
		Short: "Check that what Moult relies on is in place",
		Long: `Check that what Moult relies on is in place:

  opt-in    CRDs carry the opt-in label when they leave Git, and keep it
  markers   Go types of storage versions carry the marker that makes the label
  versions  the releases of an operator keep Kubernetes' deprecation policy
  argocd    Argo CD has the health check for VersionRemovals; Flux needs none`,
	}
	check.AddCommand(newArgoCD(f), newOptIn(f), newMarkers(f), versions.NewCommand(f))
	return cli.OnlySubcommands(check)
}
