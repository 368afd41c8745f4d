package check

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/lua"
)

// argoCD asks whether Argo CD has been told about VersionRemovals.
type argoCD struct {
	*cli.Factory
	namespace, file, format string
}

func newArgoCD(f *cli.Factory) *cobra.Command {
	a := &argoCD{Factory: f}
	c := &cobra.Command{
		Use:   "argocd",
		Short: "Check that Argo CD knows when a VersionRemoval is healthy",
		Long: `Argo CD counts an object of a kind it does not know as healthy as soon as it
exists: without Moult's health check, a VersionRemoval holds no sync wave back.
This looks into the ConfigMap ` + lua.ConfigMap + ` and compares what is there with the scripts
of this version of Moult.

` + f.ExitCodes(cli.Codes{
			Done:    "the gate's health check is installed; what is optional may be missing",
			NotDone: "it is not, or it is another script",
		}),
		Example: f.Example(`  # the cluster of the current context
  moult check argocd

  # what a commit would install, without a cluster
  kustomize build argocd | moult check argocd --file -`),
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			data, err := a.config(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			return a.print(lua.Compare(data))
		},
	}
	c.Flags().StringVarP(&a.namespace, "namespace", "n", "argocd", "namespace of Argo CD")
	c.Flags().StringVarP(&a.file, "file", "f", "", "read manifests from a file, or from - for standard input, instead of a cluster")
	c.Flags().StringVarP(&a.format, "output", "o", "", "json for programs")
	cli.OneOf(c, "output", "json")
	cli.Hint(c, "output", "leave it out for text")
	return c
}

// config is the data of argocd-cm.
func (a *argoCD) config(ctx context.Context, stdin io.Reader) (map[string]string, error) {
	if a.file != "" {
		return configIn(ctx, a.file, stdin)
	}
	cluster, err := a.Cluster()
	if err != nil {
		return nil, err
	}
	data, err := cluster.ArgoCDConfig(ctx, a.namespace)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no ConfigMap %s in namespace %s; name Argo CD's namespace with --namespace", lua.ConfigMap, a.namespace)
	case cli.IsImpersonationRefused(err):
		return nil, cli.ImpersonationError(err)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return nil, fmt.Errorf("%w; reading it needs get on configmaps in namespace %s, or give its manifest with --file", err, a.namespace)
	case err != nil:
		return nil, cli.ReadError(err)
	}
	return data, nil
}

// configIn finds argocd-cm among the manifests in a file.
func configIn(ctx context.Context, file string, stdin io.Reader) (map[string]string, error) {
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--file %s cannot be read; name a file with manifests, or - for standard input: %w", file, err)
		}
		defer func() { _ = opened.Close() }() // it was only read
		stdin = opened
	}
	read, err := desired.Stream(ctx, "--file "+file, stdin)
	if err != nil {
		return nil, err
	}
	for _, found := range read.Named("ConfigMap", "", lua.ConfigMap) {
		data, _, err := unstructured.NestedStringMap(found.Object, "data")
		return data, err
	}
	return nil, fmt.Errorf("there is no ConfigMap %s in --file %s; give it the output of `kustomize build` for what installs Argo CD", lua.ConfigMap, file)
}

func (a *argoCD) print(entries []lua.Entry) error {
	if a.format == "json" {
		if err := output.Print(a.Out, a.format, entries); err != nil {
			return err
		}
	}
	var bad error
	for _, e := range entries {
		if a.format == "" {
			optional := ""
			if !e.Needed {
				optional = " (optional)"
			}
			fmt.Fprintf(a.Out, "%-9s  %s%s\n           %s\n", e.State, e.Key, optional, e.Meaning)
		}
		if !e.Good() {
			bad = cli.NotDone{Sentence: fmt.Sprintf("%s in %s is %s: %s; %s", e.Key, lua.ConfigMap, e.State, e.Meaning, e.Remediation)}
		}
	}
	return bad
}
