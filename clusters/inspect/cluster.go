package inspect

import (
	"context"
	"errors"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	admission "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/controllers/rewrite"
)

// Cluster is a live cluster. It is read, one request at a time, and never written to. It has the clients of three API groups:
// the clientset of all of them adds a quarter to the programs.
type Cluster struct {
	crds          apiextensions.CustomResourceDefinitionInterface
	objects       *rewrite.Client // their metadata, and who answers for them
	dynamic       dynamic.Interface
	core          core.CoreV1Interface
	admission     admission.AdmissionregistrationV1Interface
	authorization authorization.AuthorizationV1Interface
	discovery     discovery.DiscoveryInterface
	clock         clock.Clock
	timeout       time.Duration // of one request
}

// Connect asks nothing yet.
func Connect(cfg *rest.Config) (*Cluster, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = -1, -1 // one request at a time, and the API server's own fairness
	cfg.WarningHandlerWithContext = rest.NoWarnings{}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	c := &Cluster{clock: clock.RealClock{}, timeout: answerTime}
	if c.objects, err = rewrite.NewClient(cfg, httpClient); err != nil {
		return nil, err
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(cfg, httpClient); err != nil {
		return nil, err
	}
	if c.core, err = core.NewForConfigAndClient(cfg, httpClient); err != nil {
		return nil, err
	}
	if c.admission, err = admission.NewForConfigAndClient(cfg, httpClient); err != nil {
		return nil, err
	}
	if c.authorization, err = authorization.NewForConfigAndClient(cfg, httpClient); err != nil {
		return nil, err
	}
	if c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(cfg, briefly(httpClient)); err != nil {
		return nil, err
	}
	compact := rest.CopyConfig(cfg)
	compact.ContentType = runtime.ContentTypeProtobuf
	compact.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := apiextensions.NewForConfigAndClient(compact, httpClient)
	if err != nil {
		return nil, err
	}
	c.crds = client.CustomResourceDefinitions()
	return c, nil
}

// page is one of a list.
type page interface {
	runtime.Object
	metav1.ListInterface
}

// each lists all that a query asks for, as pages does, and hands it over one by one.
func each[P page, T runtime.Object](ctx context.Context, c *Cluster, query metav1.ListOptions, restart func(), list func(context.Context, metav1.ListOptions) (P, error), take func(T) error) error {
	return c.pages(ctx, query, restart, func(ctx context.Context, opts metav1.ListOptions) (string, error) {
		found, err := list(ctx, opts)
		if err == nil && found.GetResourceVersion() == "" {
			err = rewrite.ErrNoAnswer
		}
		if err != nil {
			return "", err
		}
		return found.GetContinue(), meta.EachListItem(found, func(object runtime.Object) error {
			item, _ := object.(T) // a list of T holds nothing else
			return take(item)
		})
	})
}

// pages lists all that a query asks for, a page of so many at a time. A list that has expired goes on from the token in the error:
// what was written since then is seen as it is now, or was seen. Without a token it starts anew, after restart. A page that is too
// large is asked for as smaller ones, which grow again behind the large objects.
func (c *Cluster) pages(ctx context.Context, query metav1.ListOptions, restart func(), list func(context.Context, metav1.ListOptions) (next string, err error)) error {
	opts := query
	for renewals, restarts, small := 0, 0, 0; ; {
		var next string
		err := c.retry(ctx, func(ctx context.Context) (err error) {
			next, err = list(ctx, opts)
			return err
		})
		switch {
		case apierrors.IsResourceExpired(err) && renewals < tries && restarts < tries:
			renewals++
			if opts.Continue = continueToken(err); opts.Continue == "" {
				restarts++
				restart()
			}
		case errors.Is(err, rewrite.ErrPageTooLarge):
			opts.Limit, small = max(1, opts.Limit/4), 0
		case err != nil || next == "":
			return err
		default:
			opts.Continue, renewals = next, 0
			if small++; small == smallPages {
				opts.Limit, small = min(2*opts.Limit, query.Limit), 0
			}
		}
	}
}

// smallPages is how many pages come before larger ones are tried: if all objects are large, one of so many requests is in vain.
const smallPages = 8

func continueToken(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}

// served reports whether an API group is there, and the version that its server prefers. Everybody may ask that.
func (c *Cluster) served(group string) (version string, served bool) {
	groups, err := c.discovery.ServerGroups()
	if err != nil {
		return "", false
	}
	for _, g := range groups.Groups {
		if g.Name == group {
			return g.PreferredVersion.Version, true
		}
	}
	return "", false
}
