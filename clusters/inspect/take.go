package inspect

import (
	"cmp"
	"context"
	"slices"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/snapshot"
)

// taker reads one cluster.
type taker struct {
	opts Options
	*snapshot.Snapshot

	crds      apiextensions.CustomResourceDefinitionInterface
	objects   *rewrite.Client
	dynamic   dynamic.Interface
	discovery *discovery.DiscoveryClient
}

// Take reads a cluster. It is an error if the cluster does not answer, does not know who asks, or ctx ends; what else
// cannot be read is told in the snapshot.
func Take(ctx context.Context, cfg *rest.Config, opts Options) (*snapshot.Snapshot, error) {
	t, err := newTaker(cfg, opts.withDefaults())
	if err != nil {
		return nil, err
	}
	if t.ServerVersion, err = t.serverVersion(); err != nil {
		return nil, err
	}
	if err := t.takeCRDs(ctx); err != nil {
		return nil, err
	}
	t.takeRemovals(ctx)
	t.takeMetrics(ctx)
	t.sort()
	return t.Snapshot, ctx.Err()
}

func newTaker(cfg *rest.Config, opts Options) (*taker, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = -1, -1 // one request at a time, and the API server's own fairness
	cfg.WarningHandlerWithContext = rest.NoWarnings{}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	t := &taker{opts: opts, Snapshot: &snapshot.Snapshot{
		APIVersion: snapshot.APIVersion, Kind: snapshot.Kind, Cluster: opts.Cluster, TakenAt: opts.Clock.Now().UTC().Truncate(time.Second),
		MoultVersion: opts.MoultVersion, LabelKey: opts.LabelKey, FieldManager: opts.FieldManager, NamesLeftOut: opts.NoNames,
		Named: slices.Compact(slices.Sorted(slices.Values(opts.CRDs))),
	}}
	if t.objects, err = rewrite.NewClient(cfg, httpClient); err != nil {
		return nil, err
	}
	if t.dynamic, err = dynamic.NewForConfigAndClient(cfg, httpClient); err != nil {
		return nil, err
	}
	if t.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(cfg, httpClient); err != nil {
		return nil, err
	}
	compact := rest.CopyConfig(cfg)
	compact.ContentType = runtime.ContentTypeProtobuf
	compact.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := apiextensions.NewForConfigAndClient(compact, httpClient)
	if err != nil {
		return nil, err
	}
	t.crds = client.CustomResourceDefinitions()
	return t, nil
}

// serverVersion is asked first, since everybody may: it tells whether there is a cluster at all.
func (t *taker) serverVersion() (string, error) {
	info, err := t.discovery.ServerVersion()
	switch {
	case err == nil:
		return info.GitVersion, nil
	case answered(err):
		return "", nil // an API server that keeps its version to itself
	default:
		return "", err
	}
}

// sort makes two snapshots of the same state read the same.
func (t *taker) sort() {
	slices.SortFunc(t.CRDs, func(a, b snapshot.CRD) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Removals, func(a, b snapshot.Removal) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortStableFunc(t.NotRead, func(a, b snapshot.NotRead) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.CRD, b.CRD))
	})
}
