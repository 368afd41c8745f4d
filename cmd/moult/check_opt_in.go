package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/policies/optin"
)

func newCheckOptIn(a *app) *cobra.Command {
	var output string
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

A PATH is a folder with a kustomization, or without one, in which case everything
in it and below is looked at; a file of manifests; or - for standard input. If
Flux Kustomizations or Argo CD Applications are among the manifests, the folders
they name are built with their components and patches, looked for under the PATHs
and at the root of the repository. Warnings are about what the manifests do not
tell for sure.

A CRD with the label ` + v1alpha1.MigrateLabel + `: "` + optin.ExcludeValue + `" is left out on purpose.

Exit codes:
  0    nothing to mend; there may be warnings
  1    there is something to mend
  2    the question could not be answered: wrong arguments, a build failed, no CRD at all`,
		Example: a.example(`  # a kustomization, or a whole repository
  moult check opt-in config/crd
  moult check opt-in .

  # what Helm renders
  helm template widgets ./chart --include-crds | moult check opt-in -

  # for programs
  moult check opt-in . -o json`),
		Args: somePaths,
		RunE: func(c *cobra.Command, paths []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			return a.checkOptIn(c.Context(), distinct(paths), c.InOrStdin(), output)
		},
	}
	addOutput(c, &output)
	return c
}

func (a *app) checkOptIn(ctx context.Context, paths []string, stdin io.Reader, output string) error {
	survey := desired.Look(ctx, paths, stdin, a.labelKey)
	failed, report := survey.Failed, optInReportOf(survey, a.labelKey)
	if len(report.CRDs)+len(report.Findings) == 0 && len(failed) == 0 {
		return errors.New("there is no CustomResourceDefinition to check; name the folder that holds some, or pipe what renders them into `" + a.name + " check opt-in -`")
	}
	if len(report.CRDs)+len(report.Findings) == 0 {
		return a.tellAll(failed) // counts of what could not be looked at would say that all is well
	}
	if err := a.tellOptIn(report, output); err != nil {
		return err
	}
	return a.tellAll(append(failed, report.verdict()))
}

// noSuchPath says what to do about a PATH that is not there. Other errors stay as they are.
func noSuchPath(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%s: there is no such file or folder; name one, as it is seen from the folder this runs in", path)
}

// somePaths asks for at least one.
func somePaths(c *cobra.Command, paths []string) error {
	if len(paths) == 0 {
		return fmt.Errorf("name at least one PATH; see %s --help", c.CommandPath())
	}
	return nil
}

func checkOutput(output string) error {
	if _, document := formats[output]; !document && output != "" {
		return fmt.Errorf("-o %s is none of json, yaml; leave it out for text", output)
	}
	return nil
}

func addOutput(c *cobra.Command, output *string) {
	c.Flags().StringVarP(output, "output", "o", "", "json or yaml")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]cobra.Completion{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
}
