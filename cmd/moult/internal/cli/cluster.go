package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/internal/start"
)

const (
	// crdsPerPage bounds memory: a CRD can be megabytes, nearly all of it schemas.
	crdsPerPage = 20
	// AnswerTime is how long the API server may take to answer one request.
	AnswerTime = 30 * time.Second
)

// Config is how to reach the cluster the user means.
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
	cfg.UserAgent = "moult"
	cfg.WarningHandler = rest.NoWarnings{} // of deprecated versions: that is why we are here
	return cfg, nil
}

func (f *Factory) loadingRules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return rules
}

// CRDs are those of the cluster the user means.
func (f *Factory) CRDs() (apiextensions.CustomResourceDefinitionInterface, error) {
	cfg, err := f.Config()
	if err != nil {
		return nil, err
	}
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := apiextensions.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return client.CustomResourceDefinitions(), nil
}

// Selector selects the opted-in CRDs.
func (f *Factory) Selector() string { return f.LabelKey + "=" + v1alpha1.MigrateLabelValue }

// OptedIn reads the opted-in CRDs, a page at a time.
func (f *Factory) OptedIn(ctx context.Context, crds apiextensions.CustomResourceDefinitionInterface) iter.Seq2[*apiextensionsv1.CustomResourceDefinition, error] {
	return func(yield func(*apiextensionsv1.CustomResourceDefinition, error) bool) {
		next := metav1.ListOptions{LabelSelector: f.Selector(), Limit: crdsPerPage}
		for {
			page, err := listPage(ctx, crds, next)
			if err != nil {
				yield(nil, ReadError(err))
				return
			}
			for i := range page.Items {
				if !yield(&page.Items[i], nil) {
					return
				}
			}
			if next.Continue = page.Continue; next.Continue == "" {
				return
			}
		}
	}
}

func listPage(ctx context.Context, crds apiextensions.CustomResourceDefinitionInterface, opts metav1.ListOptions) (*apiextensionsv1.CustomResourceDefinitionList, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerTime)
	defer cancel()
	return crds.List(ctx, opts)
}

// Named reads the named CRDs, one at a time. Those that do not exist are told by the error, after the others.
func Named(ctx context.Context, crds apiextensions.CustomResourceDefinitionInterface, names []string) iter.Seq2[*apiextensionsv1.CustomResourceDefinition, error] {
	return func(yield func(*apiextensionsv1.CustomResourceDefinition, error) bool) {
		var missing []string
		for _, name := range names {
			crd, err := GetCRD(ctx, crds, name)
			if apierrors.IsNotFound(err) {
				missing = append(missing, name)
				continue
			}
			if err != nil {
				yield(nil, ReadError(err))
				return
			}
			if !yield(crd, nil) {
				return
			}
		}
		if len(missing) > 0 {
			yield(nil, NoSuchCRD(missing...))
		}
	}
}

// NoSuchCRD is the error of CRDs that the cluster does not have.
func NoSuchCRD(names ...string) error {
	return fmt.Errorf("no such CRD: %s; a CRD's name is <plural>.<group>, and `kubectl get crd` lists them", strings.Join(names, ", "))
}

// GetCRD reads one CRD.
func GetCRD(ctx context.Context, crds apiextensions.CustomResourceDefinitionInterface, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerTime)
	defer cancel()
	return crds.Get(ctx, name, metav1.GetOptions{})
}

// ReadError says what to do about CRDs that cannot be read.
func ReadError(err error) error {
	switch {
	case IsImpersonationRefused(err):
		return ImpersonationError(err)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w; reading CRDs needs get, list and watch on customresourcedefinitions in apiextensions.k8s.io", err)
	case errors.As(err, new(apierrors.APIStatus)), errors.Is(err, context.Canceled):
		return err
	default:
		return noAnswer(err)
	}
}

func noAnswer(err error) error { return start.NoAnswer("--kubeconfig and --context", err) }
