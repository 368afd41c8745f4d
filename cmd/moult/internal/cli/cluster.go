package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/policies/words"
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

// bindImpersonation adds the flags that kubectl has for it (k8s.io/cli-runtime/pkg/genericclioptions/config_flags.go).
func bindImpersonation(flags *pflag.FlagSet, as *rest.ImpersonationConfig) {
	flags.StringVar(&as.UserName, "as", "", "user to act as, for example a service account: "+inspect.ControllerUser)
	flags.StringArrayVar(&as.Groups, "as-group", nil, "group to act as a member of; may be repeated")
	flags.StringVar(&as.UID, "as-uid", "", "UID to act with")
}

// impersonate puts the flags in the place of what the kubeconfig says. It changes the finished configuration, and not
// how it is loaded. clientcmd drops overrides of the user when it falls back to the cluster that this runs in, as it
// does in a Job.
func impersonate(cfg *rest.Config, as rest.ImpersonationConfig) error {
	if as.UserName != "" { // the groups of somebody else in the kubeconfig are not this user's
		cfg.Impersonate = rest.ImpersonationConfig{UserName: as.UserName}
	}
	if (len(as.Groups) > 0 || as.UID != "") && cfg.Impersonate.UserName == "" {
		return errors.New("--as-group and --as-uid say more about a user; name the user with --as")
	}
	if len(as.Groups) > 0 {
		cfg.Impersonate.Groups = as.Groups
	}
	if as.UID != "" {
		cfg.Impersonate.UID = as.UID
	}
	return nil
}

// IsImpersonationRefused reports whether a request was refused because of the user it was to be made as, before it was
// looked at what it asks for. The verb is impersonate, or one that begins so
// (k8s.io/apiserver/pkg/endpoints/filters/impersonation).
func IsImpersonationRefused(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot impersonate")
}

// ImpersonationError is what to do about that.
func ImpersonationError(err error) error {
	return fmt.Errorf("%w; acting as another user (--as, or `as` in the kubeconfig) needs the verb impersonate on that user, service account or group: "+
		"have it granted, or ask without --as", err)
}

// guarded is how a refusal by the policy that guards the status begins; copies of the policy have a prefix or a suffix.
var guarded = regexp.MustCompile(`ValidatingAdmissionPolicy '[^']*moult-status[^']*'`)

// WhoMayWrite is what to do about a write to the status that policies/admission refuses; empty if something else refuses it.
func WhoMayWrite(text string) string {
	if !guarded.MatchString(text) {
		return ""
	}
	return fmt.Sprintf("only Moult's own user passes that policy, so run the same command with --as %s, or with another user if the first variable of the policy names one",
		inspect.ControllerUser)
}

var errNotAgreed = errors.New("not agreed; nothing is written")

// ConfigToWrite is Config for a command that writes, unless this is a dry run. Where the kubeconfig has several
// contexts and none is named, a person is asked, and a script has to name one. What a kubeconfig's current context is
// changes behind its back.
func (f *Factory) ConfigToWrite(dryRun bool) (*rest.Config, error) {
	contexts := f.Contexts()
	if dryRun || f.ContextName != "" || len(contexts) < 2 {
		return f.Config()
	}
	kubeconfig, err := f.loadingRules().Load()
	if err != nil {
		return nil, err
	}
	current := kubeconfig.CurrentContext
	if current == "" || f.In == nil {
		return nil, fmt.Errorf("the kubeconfig has %s, %s; name the one to write to with --context",
			words.Count(len(contexts), "context"), words.Few(contexts, 10))
	}
	f.ContextName = current
	cfg, err := f.Config()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(f.ErrOut, "write to the cluster of context %s, at %s? [y/N] ", current, cfg.Host)
	answer, err := bufio.NewReader(f.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return cfg, nil
	}
	if err != nil {
		fmt.Fprintln(f.ErrOut)
	}
	return nil, errNotAgreed
}
