// Package converters is the only caller of conversion webhooks. The API server's own code makes the requests and checks
// the answers, so that an answer counts here if it does there. A webhook is reached by a URL, by the Service that a CRD
// names, through a port-forward of the cluster, or it is a command that is started for it.
//
// Webhooks says how, and Webhooks.For makes a converter of one CRD, for the engine of policies/conversion.
package converters

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiserver "k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/policies/conversion"
)

// DefaultTimeout is how long the API server waits for an answer (k8s.io/apiserver/pkg/util/webhook/authentication.go).
const DefaultTimeout = 30 * time.Second

const (
	// patience is how many requests in a row may get no answer before the webhook is asked no more.
	patience = 3
	// A webhook that was there and does not answer may be starting anew. It is asked again after these pauses, a quarter of a minute in all.
	firstPause, longestPause = 250 * time.Millisecond, 8 * time.Second
)

// Webhooks says how conversion webhooks are reached.
type Webhooks struct {
	// URL is asked in the place of what the CRDs say; empty is what they say.
	URL string
	// CA is the certificate authority of the webhook, in PEM; empty is what the CRDs say.
	CA []byte
	// Timeout is how long an answer may take; 0 is DefaultTimeout.
	Timeout time.Duration
	// Services finds the Services that CRDs name; nil resolves their names, as it does inside of the cluster.
	Services webhook.ServiceResolver
}

// For makes a converter of a CRD that a webhook converts. It asks nothing yet.
func (w Webhooks) For(crd *apiextensionsv1.CustomResourceDefinition) (conversion.Converter, error) {
	crd, err := w.pointed(crd)
	if err != nil {
		return nil, err
	}
	c := &converter{kind: crd.Spec.Names.Kind, clock: clock.RealClock{}, one: semaphore.NewWeighted(1)}
	services := w.Services
	if services == nil {
		services = webhook.NewDefaultServiceResolver()
	}
	factory, err := apiserver.NewCRConverterFactory(noted{services, c.note}, func(resolver webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		return watched{resolver, func(cfg *rest.Config) {
			timeout := cmp.Or(w.Timeout, DefaultTimeout)
			cfg.UserAgent = "moult"
			cfg.Timeout = timeout + time.Second // ours is up first, and knows what it has waited for
			cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &watcher{next, timeout, c} })
		}}
	})
	if err != nil {
		return nil, err
	}
	if _, c.converter, err = factory.NewConverter(crd); err != nil { // the other one copies what it is given
		return nil, fmt.Errorf("the conversion webhook of %s cannot be called: %w", crd.Name, err)
	}
	return c, nil
}

// pointed is a CRD whose webhook is the one that is to be asked.
func (w Webhooks) pointed(crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd = crd.DeepCopy()
	hook := crd.Spec.Conversion.Webhook
	if hook == nil {
		hook = &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}}
		crd.Spec.Conversion.Webhook = hook
	}
	config := hook.ClientConfig
	if config == nil {
		config = &apiextensionsv1.WebhookClientConfig{}
		hook.ClientConfig = config
	}
	switch {
	case w.URL != "":
		config.URL, config.Service = &w.URL, nil
	case config.URL == nil && config.Service == nil:
		return nil, fmt.Errorf("%s does not say where its conversion webhook is; name it with --webhook URL", crd.Name)
	case config.Service != nil && config.Service.Port == nil:
		https := int32(443)
		config.Service.Port = &https
	}
	if len(w.CA) > 0 {
		config.CABundle = w.CA
	}
	return crd, nil
}

// watched changes the configuration of the clients that the API server's code makes.
type watched struct {
	webhook.AuthenticationInfoResolver

	change func(*rest.Config)
}

func (w watched) ClientConfigFor(hostPort string) (*rest.Config, error) {
	cfg, err := w.AuthenticationInfoResolver.ClientConfigFor(hostPort)
	if err == nil {
		w.change(cfg)
	}
	return cfg, err
}

func (w watched) ClientConfigForService(name, namespace string, port int) (*rest.Config, error) {
	cfg, err := w.AuthenticationInfoResolver.ClientConfigForService(name, namespace, port)
	if err == nil {
		w.change(cfg)
	}
	return cfg, err
}

// noted notes that a Service has no address, before the API server's code puts it into words.
type noted struct {
	webhook.ServiceResolver

	note func(unanswered)
}

func (n noted) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	at, err := n.ServiceResolver.ResolveEndpoint(namespace, name, port)
	if err != nil {
		n.note(unanswered{Failure: conversion.Failure{Fault: conversion.FaultUnreachable, Says: err.Error()}})
	}
	return at, err
}

// converter makes one request at a time.
type converter struct {
	kind      string
	converter runtime.ObjectConvertor
	clock     clock.Clock

	one     *semaphore.Weighted // for what follows
	noted   *unanswered         // by the request that is under way
	room    int64               // for the answer to it, in bytes of memory
	ends    <-chan struct{}     // those who ask wait no more
	silence int                 // requests in a row that got no answer
	wasHere bool                // it has answered, or taken a request
}

// unanswered is what is wrong with an answer, and whether the webhook has ended with the request.
type unanswered struct {
	conversion.Failure

	died bool
}

func (c *converter) note(u unanswered) { c.noted = &u }

// Convert is a conversion.Converter. One object is asked for as such, as the API server does when it reads one, several as a list.
func (c *converter) Convert(ctx context.Context, objects []map[string]any, apiVersion string) ([]map[string]any, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	var in runtime.Object
	if len(objects) == 1 {
		in = &unstructured.Unstructured{Object: maps.Clone(objects[0])}
	} else {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gv.WithKind(c.kind + "List"))
		for _, object := range objects {
			list.Items = append(list.Items, unstructured.Unstructured{Object: maps.Clone(object)})
		}
		in = list
	}
	out, err := c.ask(ctx, in, gv)
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	switch out := out.(type) {
	case *unstructured.Unstructured:
		all = append(all, out.Object)
	case *unstructured.UnstructuredList:
		for i := range out.Items {
			all = append(all, out.Items[i].Object)
		}
	}
	return all, nil
}

// ask asks again where the webhook has ended meanwhile: what has ended it twice is not asked a third time. It holds what it asks about until the
// request has ended, and that ends with the context.
func (c *converter) ask(ctx context.Context, in runtime.Object, gv schema.GroupVersion) (runtime.Object, error) {
	if err := c.one.Acquire(ctx, 1); err != nil {
		return nil, conversion.Failure{Fault: conversion.FaultUnreachable, Says: err.Error()}
	}
	defer c.one.Release(1)
	if c.silence >= patience {
		return nil, conversion.Failure{Fault: conversion.FaultUnreachable, Says: fmt.Sprintf("it has not answered %d times in a row, and is asked no more", patience)}
	}
	c.room, c.ends = conversion.Room(ctx), ctx.Done()
	deaths := 0
	for pause := firstPause; ; pause *= 2 {
		out, failure := c.askOnce(in, gv)
		if failure == nil {
			c.silence, c.wasHere = 0, true
			return out, nil
		}
		if err := ctx.Err(); err != nil { // that says nothing about the webhook
			return nil, conversion.Failure{Fault: conversion.FaultUnreachable, Says: err.Error()}
		}
		if failure.died {
			deaths++
		}
		isGone := failure.Fault == conversion.FaultUnreachable
		c.wasHere = c.wasHere || !isGone || failure.died
		switch {
		case !isGone && failure.Fault != conversion.FaultLate, deaths > 1:
			c.silence = 0
			return nil, failure.Failure
		case !isGone || !c.wasHere:
			c.silence++
			return nil, failure.Failure
		case pause > longestPause:
			c.silence = patience
			return nil, failure.Failure
		}
		select {
		case <-c.clock.After(pause):
		case <-ctx.Done():
			return nil, failure.Failure
		}
	}
}

func (c *converter) askOnce(in runtime.Object, gv schema.GroupVersion) (runtime.Object, *unanswered) {
	c.noted = nil
	out, err := c.converter.ConvertToVersion(in, gv)
	switch {
	case err == nil:
		return out, nil
	case c.noted != nil:
		return nil, c.noted
	}
	return nil, &unanswered{Failure: failureOf(err.Error(), in.GetObjectKind().GroupVersionKind())}
}

// failureOf reads what the API server says of an answer
// (k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go), which has no types.
func failureOf(text string, of schema.GroupVersionKind) conversion.Failure {
	text = strings.TrimPrefix(text, fmt.Sprintf("conversion webhook for %v ", of))
	said, failed := strings.CutPrefix(text, "failed: ")
	fault := conversion.FaultAnswer
	switch {
	case strings.HasPrefix(said, "expected response.uid="):
		fault = conversion.FaultUID
	case strings.HasPrefix(said, "expected webhook response of"), strings.HasPrefix(said, "no response provided"), strings.HasPrefix(said, "unrecognized response type"):
	case failed:
		fault = conversion.FaultFailed
	case strings.HasPrefix(said, "returned ") && strings.Contains(said, " objects, expected "):
		fault = conversion.FaultCount
	case strings.HasPrefix(said, "returned ") && strings.Contains(said, "must have the same "), strings.HasPrefix(said, "returned invalid metadata"):
		fault = conversion.FaultMetadata
	}
	return conversion.Failure{Fault: fault, Says: said}
}
