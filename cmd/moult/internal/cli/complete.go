package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// completionTime is how long a shell may be kept waiting.
const completionTime = 3 * time.Second

// CompleteCRDs offers the CRDs of the cluster that are not on the command line yet.
func (f *Factory) CompleteCRDs(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.completeCRDs(c, args, "")
}

// CompleteOptedIn offers those of them that are opted in.
func (f *Factory) CompleteOptedIn(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.completeCRDs(c, args, f.Selector())
}

func (f *Factory) completeCRDs(c *cobra.Command, args []string, selector string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	cluster, err := f.Cluster()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names, err := cluster.CRDNames(ctx, selector)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), cobra.ShellCompDirectiveNoFileComp
}

// CompleteFolders leaves folders to the shell.
func CompleteFolders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// Contexts are those of the kubeconfig, none if it cannot be read.
func (f *Factory) Contexts() []cobra.Completion {
	config, err := f.loadingRules().Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

// CurrentContext is the context that commands take; empty without a kubeconfig.
func (f *Factory) CurrentContext() string {
	config, err := f.loadingRules().Load()
	if err != nil {
		return f.ContextName
	}
	return cmp.Or(f.ContextName, config.CurrentContext)
}

// CompleteContexts offers the contexts of the kubeconfig.
func (f *Factory) CompleteContexts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.Contexts(), cobra.ShellCompDirectiveNoFileComp
}
