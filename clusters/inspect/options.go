package inspect

import (
	"cmp"

	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/api/v1alpha1"
)

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
	// PageSize is how many objects are listed at a time. Default: 500.
	PageSize int64
	// Tell is called after each page of objects. Default: nobody is told.
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
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	if o.Tell == nil {
		o.Tell = func(Progress) {}
	}
	return o
}
