package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
)

// Config is how to reach the cluster the user means. The ConfigFlags of k8s.io/cli-runtime would load it as well. But
// they ignore --as where there is no kubeconfig, as in a Job, and link printers and builders that nothing here uses.
func (f *Factory) Config() (*rest.Config, error) {
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.ContextName}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.loadingRules(), overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no cluster to talk to: the kubeconfig is empty or there is none; set --kubeconfig or KUBECONFIG")
	}
	if contexts := f.Contexts(); err != nil && f.ContextName != "" && len(contexts) > 0 && !slices.Contains(contexts, f.ContextName) {
		return nil, fmt.Errorf("no cluster to talk to; set --kubeconfig, --context or KUBECONFIG: %w; the kubeconfig has %s", err, strings.Join(contexts, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("no cluster to talk to; set --kubeconfig, --context or KUBECONFIG: %w", err)
	}
	if err := impersonate(cfg, f.as); err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = -1, -1 // the API server's own fairness paces us
	cfg.UserAgent = start.UserAgent("moult")
	cfg.WarningHandler = rest.NoWarnings{} // of deprecated versions: that is why we are here
	return cfg, nil
}

func (f *Factory) loadingRules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return rules
}

// Cluster is the cluster the user means.
func (f *Factory) Cluster() (*inspect.Cluster, error) {
	cfg, err := f.Config()
	if err != nil {
		return nil, err
	}
	return inspect.Connect(cfg)
}

// Selector selects the opted-in CRDs.
func (f *Factory) Selector() string { return f.LabelKey + "=" + v1alpha1.MigrateLabelValue }

// ReadError says what to do about CRDs that cannot be read.
func ReadError(err error) error {
	switch {
	case IsImpersonationRefused(err):
		return ImpersonationError(err)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w; reading CRDs needs get, list and watch on customresourcedefinitions in apiextensions.k8s.io", err)
	case errors.As(err, new(apierrors.APIStatus)), errors.As(err, new(*inspect.NoSuchCRD)), errors.Is(err, context.Canceled):
		return err
	default:
		return start.NoAnswer("--kubeconfig and --context", err)
	}
}
