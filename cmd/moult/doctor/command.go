// Package doctor is `moult doctor`: what a cluster shows, and what a person should fix.
package doctor

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/doctor"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// command is what a person wants to be looked at.
type command struct {
	*cli.Factory
	output         string
	controller     string
	argoCD         string
	helm           bool
	helmNamespaces []string
	failOn         cli.FailOn
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	d := &command{Factory: f}
	c := &cobra.Command{
		Use:   "doctor [CRD...]",
		Short: "Find what would stop a migration, undo it, or make a removal hurt",
		Long:  long(f),
		Example: f.Example(`  # all opted-in CRDs
  moult doctor

  # before a version of one of them is removed, with Helm's releases
  moult doctor widgets.example.com --helm

  # Helm's releases of two namespaces, for someone who may not read the others
  moult doctor --helm-namespace widgets,gadgets

  # the errors alone, for a program
  moult doctor -o json | jq '.checks[].findings[] | select(.severity == "error")'`),
		ValidArgsFunction: f.CompleteCRDs,
		RunE:              func(c *cobra.Command, names []string) error { return d.run(c.Context(), words.Distinct(names)) },
	}
	c.Flags().StringVar(&d.controller, "controller", "", "user that moult-controller runs as, for status-writes (default "+inspect.ControllerUser+", if that ServiceAccount is there)")
	c.Flags().StringVar(&d.argoCD, "argocd-namespace", "argocd", "namespace of Argo CD")
	c.Flags().BoolVar(&d.helm, "helm", false, "read the Secrets in which Helm keeps its releases")
	c.Flags().StringSliceVar(&d.helmNamespaces, "helm-namespace", nil, "read them in these namespaces only; implies --helm")
	d.failOn.AddFlag(c, string(finding.Error), string(finding.Error), cli.FailOnUnknown, cli.FailOnWarning)
	output.AddFlag(c, &d.output)
	return c
}

// long is the help text.
func long(f *cli.Factory) string {
	return `Examine the named CRDs, or all that are opted in, and what they depend on. Nothing
is written. Problems come first, each with what was seen and how to fix it.

  label-in-git     the opt-in label is in what a tool applies, not only on the live
                   object, where the next sync or the next cluster loses it
  migration        no person has to act before the objects are migrated
  aggregation      no APIService hands the requests for a CRD on to an aggregated API server,
                   which hides the CRD's objects
  status-writes    the controller may write the status of the CRDs: none of its writes has
                   been refused, and neither RBAC nor Moult's policies keep its user out
  other-migrators  no other Moult, Kubernetes' own migrator or
                   kube-storage-version-migrator is at work on the same CRD
  crd-in-git       no operator applies a CRD from its image, where no gate holds it back
  gates            no VersionRemoval waits for a person
  argocd-health    Argo CD knows when a VersionRemoval is healthy
  namespaces       no object lies in a Namespace that does not exist, where no client can
                   write it
  unreadable       the API server can read every object from etcd
  stuck-objects    no object has been Terminating for more than 5 minutes
  helm-keep        no uninstall of a Helm release deletes a CRD with its objects
  helm-crds        no CRD depends on a chart's folder crds, which Helm never upgrades
  helm-history     no stored revision uses a version that is to go; if no
                   VersionRemoval says which, all but the storage version
  kubernetes       Moult is tested with the API server's version, which supports what Moult's
                   policies use

Read-only rights are enough: a check that lacks a permission says which, and is no
failure. Helm keeps its releases, values and all, in Secrets; they are read only
with --helm, and nothing of the values is kept or printed.

` + f.ExitCodes(cli.Codes{
		Done:     "no finding of severity error; there may be warnings, and checks that did not run",
		NotDone:  "at least one error",
		Unknown:  "with --fail-on unknown or warning: no error, and something could not be looked at",
		Warnings: "with --fail-on warning: no error, and at least one warning",
	})
}

func (d *command) run(ctx context.Context, names []string) error {
	cluster, err := d.Cluster()
	if err != nil {
		return err
	}
	state, incomplete := cluster.Examine(ctx, inspect.Examination{
		CRDs: names, LabelKey: d.LabelKey, Controller: d.controller, ArgoCDNamespace: d.argoCD, Helm: d.helm, HelmNamespaces: d.helmNamespaces,
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if incomplete != nil {
		incomplete = cli.ReadError(incomplete)
	}
	if incomplete != nil && len(state.CRDs) == 0 {
		return incomplete
	}
	report := doctor.Examine(state)
	report.OK = report.OK && incomplete == nil
	if err := d.print(report); err != nil {
		return err
	}
	if incomplete != nil {
		return incomplete
	}
	return d.verdictOf(report)
}

// print lists problems first, the gravest ones at the top, then a line for each check that found none.
func (d *command) print(report doctor.Report) error {
	if d.output != "" {
		return output.Print(d.Out, d.output, report)
	}
	for _, severity := range []finding.Severity{finding.Error, finding.Warning, finding.Info} {
		for _, r := range report.Checks {
			for _, f := range r.Findings {
				if f.Severity == severity {
					fmt.Fprintf(d.Out, "%-8s %s  %s\n%s\n%s\n\n", severity, r.ID, f.Object, output.Paragraph(f.Why), output.Paragraph("fix: "+f.Remediation))
				}
			}
		}
	}
	for _, r := range report.Checks {
		if r.Outcome == doctor.Passed {
			fmt.Fprintf(d.Out, "%-8s %-15s  %s\n", "ok", r.ID, r.Evidence)
		}
	}
	for _, r := range report.Checks {
		if r.Outcome == doctor.NotRun {
			fmt.Fprintf(d.Out, "%-8s %-15s  %s\n", "not run", r.ID, r.Evidence)
		}
		for _, what := range r.NotSeen {
			fmt.Fprintf(d.Out, "%-8s %-15s  %s\n", "not seen", r.ID, what)
		}
	}
	return nil
}

// verdictOf is the error that decides the exit code.
func (d *command) verdictOf(report doctor.Report) error {
	found := map[finding.Severity]int{}
	unknown := false
	for _, r := range report.Checks {
		for _, f := range r.Findings {
			found[f.Severity]++
		}
		unknown = unknown || len(r.NotSeen) > 0 || r.Outcome == doctor.NotRun && !r.NotAsked
	}
	switch bad := found[finding.Error]; {
	case bad > 0:
		return cli.NotDone{Sentence: words.Count(bad, "error") + "; what was seen and how to fix it is above"}
	case unknown:
		return d.failOn.Ending(cli.ExitUnknown)
	case found[finding.Warning] > 0:
		return d.failOn.Ending(cli.ExitWarnings)
	}
	return nil
}
