package engines

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/policies/conversion"
)

// asTheCRDSays is the value of --webhook that is no URL.
const asTheCRDSays = "crd"

// Webhook is the flags that say how the conversion webhook is asked. Without them, it is not: objects would be sent to whatever address a CRD of
// somebody else's names.
type Webhook struct {
	at      string
	caFile  string
	command string
	timeout time.Duration

	ca      []byte
	started *converters.Command
}

// Bind adds the flags.
func (w *Webhook) Bind(c *cobra.Command) {
	c.Flags().StringVar(&w.at, "webhook", "", "where to ask the conversion webhook: its URL, or crd for as the CRDs say; default: it is not asked")
	c.Flags().StringVar(&w.caFile, "webhook-ca", "", "file with the certificate authority of the webhook, in PEM; default: as the CRDs say")
	c.Flags().StringVar(&w.command, "webhook-command", "", "command that serves the conversion webhook: see above")
	c.Flags().DurationVar(&w.timeout, "webhook-timeout", converters.DefaultTimeout, "how long an answer of the webhook may take; the default is the API server's")
	_ = c.RegisterFlagCompletionFunc("webhook", cobra.FixedCompletions([]cobra.Completion{asTheCRDSays}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.MarkFlagFilename("webhook-ca", "crt", "pem")
}

// IsNamed reports whether a webhook is to be asked.
func (w *Webhook) IsNamed() bool { return w.at != "" || w.command != "" }

// Subject are the CRDs of a place, those with the names or all.
func (w *Webhook) Subject(ctx context.Context, place string, stdin io.Reader, names ...string) (*Subject, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	if place == "" {
		return nil, errors.New("name the CRDs with --crds, for example --crds config/crd")
	}
	all, err := input.CRDs(ctx, place, stdin, names...)
	if err != nil {
		return nil, err
	}
	return NewSubject(all)
}

// Check refuses flags that do not fit together.
func (w *Webhook) Check() (err error) {
	isURL := strings.HasPrefix(w.at, "https://") || strings.HasPrefix(w.at, "http://")
	switch {
	case w.at != "" && w.command != "":
		return errors.New("--webhook and --webhook-command say two things about one webhook; leave one out")
	case w.at != "" && w.at != asTheCRDSays && !isURL:
		return fmt.Errorf("--webhook %s is neither a URL nor %s; write it like https://localhost:9443/convert", w.at, asTheCRDSays)
	case w.caFile != "" && w.at == "":
		return errors.New("--webhook-ca is for the webhook of --webhook; name it")
	case w.timeout <= 0:
		return fmt.Errorf("--webhook-timeout %s leaves no time; write it like 30s", w.timeout)
	case w.caFile == "":
		return nil
	}
	if w.ca, err = os.ReadFile(w.caFile); err != nil {
		return fmt.Errorf("--webhook-ca: %w", err)
	}
	return nil
}

// Start starts the command, if there is one and a webhook is needed.
func (w *Webhook) Start(ctx context.Context, s *Subject) (stop func(), err error) {
	if w.command == "" || !slices.ContainsFunc(s.CRDs, crds.HasWebhook) {
		return func() {}, nil
	}
	if w.started, err = converters.Start(ctx, w.command); err != nil {
		return nil, fmt.Errorf("--webhook-command: %w", err)
	}
	return w.started.Stop, nil
}

// Ended says that the command has ended although it was still to be asked; empty if it has not.
func (w *Webhook) Ended() string {
	if w.started == nil {
		return ""
	}
	printed, ended := w.started.Ended()
	if !ended {
		return ""
	}
	return "the command of --webhook-command has ended while it was asked; " + printed
}

// Asker makes the engine of a CRD that asks its webhook. The live CRD is what the cluster has; nil without a cluster.
type Asker func(live *apiextensionsv1.CustomResourceDefinition) (*conversion.Engine, error)

// Askers are those of all CRDs, for the cluster that the factory means. What they open is closed by stop.
func (w *Webhook) Askers(s *Subject, f *cli.Factory) (all []Asker, stop func(), err error) {
	hooks, stop := converters.Webhooks{CA: w.ca, Timeout: w.timeout}, func() {}
	if w.at == asTheCRDSays && slices.ContainsFunc(s.CRDs, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return clientConfig(crd).Service != nil }) {
		cfg, err := f.Config()
		if err != nil {
			return nil, nil, err
		}
		if hooks.Services, stop, err = converters.ServicesOf(cfg); err != nil {
			return nil, nil, err
		}
	}
	for i, crd := range s.CRDs {
		all = append(all, func(live *apiextensionsv1.CustomResourceDefinition) (*conversion.Engine, error) {
			e := s.Engines[i]
			if w.at == "" && w.started == nil || !crds.HasWebhook(crd) {
				return e, nil
			}
			c, err := w.pointed(hooks, crd, live).For(crd)
			if err != nil {
				return nil, err
			}
			return e.With(c), nil
		})
	}
	return all, stop, nil
}

// Open is Start and Askers; stop ends both.
func (w *Webhook) Open(ctx context.Context, s *Subject, f *cli.Factory) (all []Asker, stop func(), err error) {
	end, err := w.Start(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	all, closeAll, err := w.Askers(s, f)
	if err != nil {
		end()
		return nil, nil, err
	}
	return all, func() { closeAll(); end() }, nil
}

// pointed are the webhooks for one CRD. Its certificate authority is often injected in the cluster: then the live CRD has it.
func (w *Webhook) pointed(hooks converters.Webhooks, crd, live *apiextensionsv1.CustomResourceDefinition) converters.Webhooks {
	switch {
	case w.started != nil:
		hooks.URL, hooks.CA = w.started.URL(pathOf(clientConfig(crd))), w.started.CA
	case w.at != asTheCRDSays:
		hooks.URL = w.at
	case len(hooks.CA) == 0 && live != nil && len(bytes.TrimSpace(clientConfig(crd).CABundle)) == 0:
		hooks.CA = clientConfig(live).CABundle
	}
	return hooks
}

// clientConfig is empty for a CRD without one.
func clientConfig(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.WebhookClientConfig {
	if crds.HasWebhook(crd) && crd.Spec.Conversion.Webhook != nil && crd.Spec.Conversion.Webhook.ClientConfig != nil {
		return crd.Spec.Conversion.Webhook.ClientConfig
	}
	return &apiextensionsv1.WebhookClientConfig{}
}

// pathOf is where controller-runtime serves conversions, if the CRD does not say.
func pathOf(config *apiextensionsv1.WebhookClientConfig) string {
	path := ""
	if config.Service != nil && config.Service.Path != nil {
		path = *config.Service.Path
	}
	return cmp.Or(path, "/convert")
}
