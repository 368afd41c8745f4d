package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/charts/store"
	"github.com/moult-dev/moult/clusters/desired/survey"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/policies/optin"
	"github.com/moult-dev/moult/policies/rollout"
	"github.com/moult-dev/moult/policies/words"
)

// optIn looks at what is in Git.
type optIn struct {
	*cli.Factory
	format string
}

func newOptIn(f *cli.Factory) *cobra.Command {
	o := &optIn{Factory: f}
	c := &cobra.Command{
		Use:   "opt-in PATH...",
		Short: "Check that CRDs carry the opt-in label when they leave Git, and keep it",
		Long: `Build what is in Git the way Flux does, and check that every CRD with several
versions carries the opt-in label, and that nothing undoes it on its way:

  NotLabelled         a CRD has several versions and not the label
  ReachesNothing      a component or patch sets the label on no CRD at all
  Recreated           force: what is refused is deleted, a CRD with all its objects
  Replaced            Replace=true: labels that are not in Git are dropped
  NotApplied          ssa: Ignore or IfNotPresent: changes are not applied
  DifferencesIgnored  the label or the versions are not compared with Git
  Substituted         Flux would take a ${...} in the CRD for a variable
  OtherMigrator       a StorageVersionMigration of a CRD with the label lies beside it
  GateLocksItself     a VersionRemoval waits for a change of the CRD that it holds back

A PATH is a folder, a file of manifests, or - for standard input. If a folder has
no kustomization, everything in it and below is looked at. If Flux Kustomizations
or Argo CD Applications are among the manifests, the folders they name are built
with their components and patches. Those folders are looked for under the PATHs
and at the root of the repository. Charts that a kustomization takes in (helmCharts) are
rendered, and fetched if they are not in the repository. Warnings are about what the manifests do not
show for sure.

A CRD with the label ` + v1alpha1.MigrateLabel + `: "` + v1alpha1.MigrateLabelExcluded + `" is left out on purpose.

` + f.ExitCodes(cli.Codes{
			Done:    "nothing to fix; there may be warnings",
			NotDone: "there is something to fix",
		}),
		Example: f.Example(`  # a kustomization, or a whole repository
  moult check opt-in config/crd
  moult check opt-in .

  # what Helm renders
  helm template widgets ./chart --include-crds | moult check opt-in -

  # for programs
  moult check opt-in . -o json`),
		Args: cli.SomePaths,
		RunE: func(c *cobra.Command, paths []string) error {
			return o.run(c.Context(), words.Distinct(paths), c.InOrStdin())
		},
	}
	output.AddFlag(c, &o.format)
	return c
}

func (o *optIn) run(ctx context.Context, paths []string, stdin io.Reader) error {
	surveyed := survey.Of(ctx, paths, stdin, o.LabelKey, store.New(store.Options{Fetch: true}))
	report := optin.Examine(surveyed.Units, optin.Question{LabelKey: o.LabelKey, Unseen: true, SameClusters: surveyed.Units, ArgoCDConfig: surveyed.Named("ConfigMap", "", lua.ConfigMap)})
	for _, f := range rollout.Locks(surveyed.Cluster, o.LabelKey) {
		report.Add(optin.Found{Finding: f, CRDs: []string{f.CRD}})
	}
	nothing := len(report.CRDs)+len(report.Findings) == 0
	if nothing && len(surveyed.Failed) == 0 {
		return errors.New("there is no CustomResourceDefinition to check; name the folder that holds some, or pipe what renders them into `" + o.Name + " check opt-in -`")
	}
	if nothing {
		return o.TellAll(surveyed.Failed) // counts of what could not be looked at would say that all is well
	}
	if err := o.print(report); err != nil {
		return err
	}
	if !report.OK {
		surveyed.Failed = append(surveyed.Failed, cli.NotDone{Sentence: words.Count(report.Errors(), "thing") + " to fix; what and where is above, and --help says what the words mean"})
	}
	return o.TellAll(surveyed.Failed)
}

func (o *optIn) print(report optin.Report) error {
	if o.format != "" {
		return output.Print(o.Out, o.format, report)
	}
	printFindings(o.Out, report.Findings)
	in, out := 0, 0
	for _, crd := range report.CRDs {
		if crd.OptedIn {
			in++
		}
		if crd.Excluded {
			out++
		}
	}
	fmt.Fprintf(o.Out, "%s: %d opted in with %s=%s, %d left out on purpose\n", words.Count(len(report.CRDs), "CRD"), in, o.LabelKey, v1alpha1.MigrateLabelValue, out)
	return nil
}

func printFindings(out io.Writer, findings []optin.Found) {
	for _, f := range findings {
		where := strings.TrimSpace(f.Place.String() + "  " + f.Resource)
		fmt.Fprintf(out, "%s: %s  %s\n  %s\n  fix: %s\n\n", f.Severity, f.Rule, where, f.Why, f.Remediation)
	}
}
