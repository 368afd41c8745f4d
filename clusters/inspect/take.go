package inspect

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/survivors"
)

// taker reads one cluster into a snapshot.
type taker struct {
	*Cluster
	*snapshot.Snapshot

	opts Options
	// targets are the versions of CRDs that references are looked for.
	targets []survivors.Target
}

// Take reads a cluster into a snapshot. It is an error if the cluster does not answer, does not know who asks, or ctx
// ends; what else cannot be read is reported in the snapshot.
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
	t.takeReferences(ctx)
	t.sort()
	return t.Snapshot, ctx.Err()
}

// serverVersion is asked first, since everybody may: it reports whether there is a cluster at all.
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

// Options say what to take. The zero value takes all CRDs of Moult's ordinary label.
type Options struct {
	// Cluster is what the snapshot calls the cluster.
	Cluster string
	// CRDs are the names of those to take; empty for all. The objects of a CRD are looked through if it is named here,
	// opted in, or has more than one version.
	CRDs []string
	// LabelKey opts CRDs in. Default: moult.dev/migrate.
	LabelKey string
	// FieldManager is Moult's in managedFields. Default: the one that goes with LabelKey.
	FieldManager string
	// MoultVersion is written into the snapshot.
	MoultVersion string
	// NoObjects leaves the objects out, and NoNames their names.
	NoObjects, NoNames bool
	// Fields reads all objects of a CRD to count which fields they have, where no webhook converts them.
	Fields bool
	// References looks through all objects of the cluster for what else names versions, and Secrets through Secrets, too.
	References, Secrets bool
	// Places are where to look for that. Default: those that Moult knows.
	Places []survivors.Place
	// PageSize is how many objects are listed at a time. Default: 500.
	PageSize int64
	// Tell is called after each page of objects. Default: it is not called.
	Tell func(Progress)
	// Clock is replaced in tests. Default: the real one.
	Clock clock.Clock
}

// Progress is how far the objects of one CRD have been looked through. Total grows if objects are created meanwhile.
type Progress struct {
	CRD         string
	Done, Total int64
}

const defaultPageSize = 500

func (o Options) withDefaults() Options {
	o.LabelKey = cmp.Or(o.LabelKey, v1alpha1.MigrateLabel)
	o.FieldManager = cmp.Or(o.FieldManager, v1alpha1.FieldManagerOf(v1alpha1.FieldManager, o.LabelKey))
	o.PageSize = cmp.Or(o.PageSize, defaultPageSize)
	if o.Places == nil {
		o.Places = survivors.Embedded()
	}
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	if o.Tell == nil {
		o.Tell = func(Progress) {}
	}
	return o
}
