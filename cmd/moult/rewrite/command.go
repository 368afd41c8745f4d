// Package rewrite is `moult rewrite`: manifests in files, converted to the storage version of their CRD.
package rewrite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/manifests"
	"github.com/moult-dev/moult/policies/words"
)

// command converts manifests in files to the storage versions of their CRDs.
type command struct {
	*cli.Factory
	crdsAt string
	names  []string
	from   []string
	dryRun bool
	output string
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	r := &command{Factory: f}
	c := &cobra.Command{
		Use:   "rewrite PATH... --crds PATH",
		Short: "Convert manifests in files to the storage version of their CRD",
		Long: `Convert the custom resources in files to the storage version of their CRD. That is
the apiVersion of manifests, also in Lists and in patches, the targets of Kustomize's
patches, and the health checks of Flux. Only the version is changed; everything
else in a file stays as it is, byte for byte.

Manifests are converted from versions that the CRD marks as deprecated, does not serve
or does not list, and from those named by --from. Manifests at another version are left
as they are, and counted at the end.

A manifest is converted only if the API server would store the same object at both
versions. That is so if conversion is None, and the new schema knows every field and
has the same defaults. The others are listed with the reason, for a person; so are
templates of Helm charts, and patches whose target is in none of the files.

A PATH is a file, or a folder with all YAML and JSON files in it and below, except
folders called .git. If a PATH is a symbolic link, the files that it leads to are
converted. Links below a PATH are not followed, and nothing outside of the PATHs is
written. If a link leads out of them, what is at an old version there is listed.

` + f.ExitCodes(cli.Codes{
			Done:    "nothing is left at an old version; with --dry-run, nothing would be",
			NotDone: "something needs manual work",
		}),
		Example: f.Example(`  # what would change?
  moult rewrite . --crds config/crd --dry-run

  moult rewrite clusters apps --crds config/crd

  # also what is at a version that is neither deprecated nor removed yet
  moult rewrite . --crds config/crd --crd widgets.example.com --from v1beta1

  # with the CRDs of another commit
  moult rewrite . --crds git:origin/main:config/crd

  # with the CRDs of a chart
  helm template widgets ./chart --include-crds | moult rewrite apps --crds -`),
		Args: cli.SomePaths,
		RunE: func(c *cobra.Command, paths []string) error {
			return r.run(c.Context(), words.Distinct(paths), c.InOrStdin())
		},
	}
	c.Flags().StringVar(&r.crdsAt, "crds", "", "where the CRDs are: a folder, a kustomization, a file, git:REV:PATH, or - for standard input")
	c.Flags().StringSliceVar(&r.names, "crd", nil, "only manifests of this CRD, as in widgets.example.com; may be given several times")
	c.Flags().StringSliceVar(&r.from, "from", nil, "a version that manifests are to leave, too; may be given several times")
	c.Flags().BoolVar(&r.dryRun, "dry-run", false, "write nothing; show what would change")
	output.AddFlag(c, &r.output)
	return c
}

func (r *command) run(ctx context.Context, paths []string, stdin io.Reader) error {
	chosen, err := r.chosenCRDs(ctx, stdin)
	if err != nil {
		return err
	}
	plan, err := r.plan(chosen)
	if err != nil {
		return err
	}
	tree, err := input.Files(paths)
	if err != nil {
		return err
	}
	for _, note := range tree.Notes {
		fmt.Fprintln(r.ErrOut, note)
	}
	results := manifests.Rewrite(tree.Files, plan)
	if err := r.checkUnknown(chosen, results); err != nil {
		return err
	}
	report, failed := rewritten{DryRun: r.dryRun, Changed: []manifests.Reference{}, Left: []manifests.Reference{}, Kept: plan.Kept(tree.Files)}, []error{}
	for _, result := range results {
		if err := r.carryOut(result); err != nil {
			failed = append(failed, err)
			continue
		}
		report.add(result.References)
	}
	report.add(tree.Left(plan))
	if err := r.print(report); err != nil {
		return err
	}
	return r.TellAll(append(failed, report.verdict()))
}

// chosenCRDs are those that are asked for.
func (r *command) chosenCRDs(ctx context.Context, stdin io.Reader) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	if r.crdsAt == "" {
		return nil, errors.New("name the place of the CRDs with --crds: a folder, a kustomization, a file, git:REV:PATH, or - for standard input")
	}
	found, err := input.CRDs(ctx, r.crdsAt, stdin, r.names...)
	if err != nil {
		return nil, fmt.Errorf("--crds: %w", err)
	}
	return found, nil
}

// plan is made of the CRDs.
func (r *command) plan(all []*apiextensionsv1.CustomResourceDefinition) (manifests.Plan, error) {
	plan := manifests.Plan{}
	for _, crd := range all {
		target, err := manifests.TargetOf(crd, r.from...)
		if err != nil {
			return nil, err
		}
		plan[target.Kind()] = target
	}
	return plan, r.checkFrom(all)
}

// checkFrom refuses a version that nothing can leave.
func (r *command) checkFrom(all []*apiextensionsv1.CustomResourceDefinition) error {
	if len(all) != 1 {
		return nil
	}
	if storage := crds.StorageVersion(all[0]); slices.Contains(r.from, storage) {
		return fmt.Errorf("%s stores at %s, so nothing can be converted from it; look at --from and --crds", all[0].Name, storage)
	}
	return nil
}

// checkUnknown refuses a version that is misspelt, before anything is written. No CRD has it, and no manifest either,
// which would leave a version that no longer exists without being asked to.
func (r *command) checkUnknown(all []*apiextensionsv1.CustomResourceDefinition, results []manifests.Result) error {
	for _, from := range r.from {
		known := slices.ContainsFunc(results, func(result manifests.Result) bool {
			return slices.ContainsFunc(result.References, func(h manifests.Reference) bool { return h.Version == from })
		})
		var there []string
		for _, crd := range all {
			versions := crds.Versions(crd)
			known = known || slices.Contains(versions, from)
			there = append(there, crd.Name+" has "+strings.Join(versions, ", "))
		}
		if !known {
			return fmt.Errorf("--from %s: no CRD has this version, and no manifest is written at it, so nothing was changed; %s", from, strings.Join(there, "; "))
		}
	}
	return nil
}

func (r *command) carryOut(result manifests.Result) error {
	switch {
	case result.Err != nil:
		return result.Err
	case result.Changed == nil:
		return nil
	case r.dryRun:
		if r.output == "" {
			_, text, _ := bytes.Cut(diff.Diff(result.Name, result.Content, result.Name, result.Changed), []byte("\n")) // the first line repeats the next two
			fmt.Fprintf(r.Out, "%s", text)
		}
		return nil
	}
	return output.WriteFile(result.Name, result.Changed)
}
