package inspect

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/policies/snapshot"
)

// taker reads one cluster into a snapshot.
type taker struct {
	*Cluster
	*snapshot.Snapshot

	opts Options
}

// Take reads a cluster into a snapshot. It is an error if the cluster does not answer, does not know who asks, or ctx ends;
// what else cannot be read is told in the snapshot.
func Take(ctx context.Context, cfg *rest.Config, opts Options) (*snapshot.Snapshot, error) {
	c, err := Connect(cfg)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	c.clock, c.timeout = opts.Clock, longestTime
	t := &taker{Cluster: c, opts: opts, Snapshot: &snapshot.Snapshot{
		APIVersion: snapshot.APIVersion, Kind: snapshot.Kind, Cluster: opts.Cluster, TakenAt: opts.Clock.Now().UTC().Truncate(time.Second),
		MoultVersion: opts.MoultVersion, LabelKey: opts.LabelKey, FieldManager: opts.FieldManager, NamesLeftOut: opts.NoNames,
		Named: slices.Compact(slices.Sorted(slices.Values(opts.CRDs))),
	}}
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
