// Package rbac is `moult rbac`: the role that lets the controller rewrite the objects of CRDs.
package rbac

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

const (
	// aggregateLabel is the label by which the controller's ClusterRole in clusters/base finds what it is made of.
	aggregateLabel = "rbac.moult.dev/aggregate-to"
	// aggregateDefault is the name of that ClusterRole.
	aggregateDefault = "moult-controller"
)

// command prints the role that lets the controller rewrite the objects of CRDs.
type command struct {
	*cli.Factory
	name        string
	aggregateTo string
	optedIn     bool
	owners      bool
	stashes     bool
	references  bool
	folder      string // of places of your own
	output      string

	places []survivors.Place
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	r := &command{Factory: f}
	c := &cobra.Command{
		Use:   "rbac PATH...",
		Short: "Print the role that lets the controller rewrite the objects of CRDs",
		Long:  long(f),
		Example: f.Example(`  moult rbac config/crd > moult-role.yaml

  # for the Helm chart
  moult rbac config/crd -o values > moult-values.yaml

  # only for CRDs that carry the opt-in label
  moult rbac config/crd --opted-in

  # what Helm renders
  helm template widgets ./chart --include-crds | moult rbac -

  # what moving owner references takes, in a cluster with these CRDs
  kubectl get crd -o yaml | moult rbac --repair-owners - > moult-owners.yaml

  # what moving stashed copies takes
  moult rbac --migrate-stashes

  # so that owner references are found in all custom resources of a cluster
  kubectl get crd -o yaml | moult rbac --references - > moult-references.yaml

  # what is in a cluster already
  kubectl get crd widgets.example.com -o yaml | moult rbac -`),
		Args: func(c *cobra.Command, paths []string) error {
			if r.stashes {
				return cobra.NoArgs(c, paths)
			}
			if r.owners || r.references {
				return nil
			}
			return cli.SomePaths(c, paths)
		},
		PreRunE: func(_ *cobra.Command, paths []string) error { return r.check(paths) },
		RunE: func(c *cobra.Command, paths []string) error {
			return r.print(c.Context(), words.Distinct(paths), c.InOrStdin())
		},
	}
	c.Flags().StringVar(&r.name, "name", "", "name of the role; default: the one it is added to, and -objects, -owners, -stashes, -references or -references-objects")
	c.Flags().StringVar(&r.aggregateTo, "aggregate-to", aggregateDefault, "the controller's own ClusterRole")
	c.Flags().BoolVar(&r.optedIn, "opted-in", false, "leave out CRDs that do not carry the opt-in label")
	c.Flags().BoolVar(&r.owners, "repair-owners", false, "print what moving owner references takes")
	c.Flags().BoolVar(&r.stashes, "migrate-stashes", false, "print what moving stashed copies takes")
	c.Flags().BoolVar(&r.references, "references", false, "print what the controller's flag --references needs")
	c.Flags().StringVar(&r.folder, "places", "", "folder with places of your own, for --migrate-stashes and --references")
	c.Flags().StringVarP(&r.output, "output", "o", asManifests, "manifests, or values for the Helm chart")
	cli.OneOf(c, "output", asManifests, asValues)
	_ = c.MarkFlagDirname("places")
	c.MarkFlagsMutuallyExclusive("repair-owners", "migrate-stashes", "references")
	_ = c.RegisterFlagCompletionFunc("name", cobra.NoFileCompletions)
	_ = c.RegisterFlagCompletionFunc("aggregate-to", cobra.NoFileCompletions)
	return c
}

// long is the help text.
func long(f *cli.Factory) string {
	return `Print the ClusterRole that moult-controller needs for the objects of the CRDs that
are built from the PATHs, and nothing beyond. It grants get, list and patch on each
resource, and patch on its status where the storage version has one. Commit it beside
the CRDs. Print it again when a CRD is added or removed, or a storage version changes.

The role carries a label by which Kubernetes adds it to the controller's own
ClusterRole, so nothing has to be bound.

A PATH is a folder, a file of manifests, git:REV:PATH, or - for standard input. If a
folder has no kustomization, all manifests in it and below are taken, as Flux does. CRDs that carry the label ` + v1alpha1.MigrateLabel + `: "` + v1alpha1.MigrateLabelExcluded + `" are left out.

With --repair-owners it is another role, to be added to the first. The controller
needs it to move owner references, which the annotation ` + v1alpha1.RepairOwnersAnnotation + `
on a CRD asks for. It grants list on all of Kubernetes' own resources, and get, list and
patch on those in namespaces and on the objects of the CRDs of the PATHs. Name all CRDs
of the cluster whose objects may be owned; PATHs can be left out. It is a wide right: a client
that may list Secrets reads them, and one that may patch Deployments can run anything.

With --migrate-stashes it is what the controller needs to move stashed copies, which the
annotation ` + v1alpha1.MigrateStashesAnnotation + ` on a CRD asks for. It names the resources
at which copies are known to lie and how they are moved. With it the controller may
delete ControllerRevisions. It takes no PATHs.

With --references it is what the controller's flag of that name reads, to find what
else names the versions that are to be removed. It grants get and list on the resources
of Kubernetes, Secrets included, and on those at which versions are known to lie. That
role is in clusters/components/references. With PATHs it grants get and list on the
objects of the CRDs that are built from them, for what is in your cluster beside that.

With -o values it is the same rights as values for the Helm chart in clusters/chart,
which makes that role of them.

` + f.ExitCodes(cli.Codes{
		Done: "the role is printed",
	})
}

// check refuses names that the API server would refuse, and flags that do not go together.
func (r *command) check(paths []string) (err error) {
	if err := r.checkOutput(); err != nil {
		return err
	}
	if r.folder != "" && !r.stashes && !r.references {
		return errors.New("--places is for --migrate-stashes and --references; add one of them")
	}
	if r.places, err = start.Places(r.folder); err != nil {
		return err
	}
	if problems := validation.IsValidLabelValue(r.aggregateTo); r.aggregateTo == "" || len(problems) > 0 {
		return fmt.Errorf("--aggregate-to %q cannot be a label's value; write it like %s", r.aggregateTo, aggregateDefault)
	}
	suffix := "-objects"
	switch {
	case r.owners:
		suffix = "-owners"
	case r.stashes:
		suffix = "-stashes"
	case r.references && len(paths) > 0:
		suffix = "-references-objects"
	case r.references:
		suffix = "-references"
	}
	r.name = cmp.Or(r.name, r.aggregateTo+suffix)
	if problems := content.IsPathSegmentName(r.name); len(problems) > 0 {
		return fmt.Errorf("--name %q cannot be a ClusterRole's name: %s", r.name, strings.Join(problems, "; "))
	}
	return nil
}

func (r *command) print(ctx context.Context, paths []string, stdin io.Reader) error {
	switch {
	case r.owners:
		return r.printOwners(ctx, paths, stdin)
	case r.stashes:
		return r.write("What moult-controller needs to move stashed copies. Printed by `moult rbac --migrate-stashes`.", r.stashesRole())
	case r.references:
		return r.printReferences(ctx, paths, stdin)
	}
	crds, err := r.built(ctx, paths, stdin)
	if err != nil {
		return err
	}
	if r.output == asValues {
		return r.printValues(r.role(crds))
	}
	return r.write("What moult-controller needs for the objects of your CRDs. Printed by `moult rbac`: do so again when a CRD comes or goes.", r.role(crds))
}

func (r *command) printOwners(ctx context.Context, paths []string, stdin io.Reader) (err error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	if len(paths) > 0 {
		if crds, err = r.built(ctx, paths, stdin); err != nil {
			return err
		}
	}
	return r.write("What moult-controller needs to move owner references. Printed by `moult rbac --repair-owners`.", r.repairRole(crds))
}

func (r *command) write(comment string, role *rbacv1.ClusterRole) error {
	raw, err := yaml.Marshal(role)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.Out, "# %s\n%s", comment, raw)
	return err
}

// The values of -o.
const (
	asManifests = "manifests"
	asValues    = "values"
)

// checkOutput refuses what the chart has other values for, or none.
func (r *command) checkOutput() error {
	switch {
	case r.output == asManifests:
		return nil
	case r.owners || r.stashes || r.references:
		return errors.New("-o values is for the objects of CRDs that are opted in; for the others, set repairOwners, migrateStashes or references of the chart to true")
	case r.name != "" || r.aggregateTo != aggregateDefault:
		return errors.New("-o values has no names; leave out --name and --aggregate-to, and set namePrefix of the chart")
	}
	return nil
}

// granted is an item of migrate.resources in the values of clusters/chart.
type granted struct {
	Group     string   `json:"group"`
	Resources []string `json:"resources"`
}

// printValues prints the rights of a role. The chart knows the verbs: a status is patched, and anything else is walked.
func (r *command) printValues(role *rbacv1.ClusterRole) error {
	var all []granted
	for _, rule := range role.Rules {
		if last := len(all) - 1; last >= 0 && all[last].Group == rule.APIGroups[0] {
			all[last].Resources = append(all[last].Resources, rule.Resources...)
			continue
		}
		all = append(all, granted{Group: rule.APIGroups[0], Resources: rule.Resources})
	}
	raw, err := yaml.Marshal(map[string]any{"migrate": map[string]any{"resources": all}})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.Out, "# What moult-controller may rewrite. Printed by `moult rbac -o values`: do so again when a CRD comes or goes.\n%s", raw)
	return err
}
