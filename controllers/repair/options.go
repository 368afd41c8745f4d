package repair

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/survivors"
)

// Migration is the side of the migration reconciler that is asked.
type Migration interface {
	// Status is how far the migration of a CRD is.
	Status(crd string) (plan.MigrationStatus, bool)
	// Asked are the versions of a CRD that VersionRemovals name; nil if there is none.
	Asked(crd string) []string
	// Follow calls tell, which does not block, when one of these may have changed.
	Follow(tell func())
}

// Cluster is where references and stashed copies are looked for.
type Cluster interface {
	owners.Lister
	embeddedcopies.Lister
	// Mapper finds the resource of a kind.
	Mapper() meta.RESTMapper
	// Types are those that the staying versions of some CRDs have.
	Types(ctx context.Context, targets []survivors.Target) (map[embeddedcopies.CRDVersion]*survivors.Types, error)
	// Resources are all of which objects are stored, each at a version that is served, and why those of some groups are not
	// known.
	Resources() (all []schema.GroupVersionResource, unseen map[string]string, err error)
}

// Options adjust the reconciler.
type Options struct {
	// Migration and Cluster are asked, and Losses what an object would lose before it is written. Required.
	Migration Migration
	Cluster   Cluster
	Losses    rewrite.Losses

	// Places are where stashed copies are looked for. Default: those that Moult knows.
	Places []survivors.Place
	// NewConverter makes, for each look, who converts copies as their CRD does, at places that ask for that. Default:
	// they are left.
	NewConverter func() embeddedcopies.Converter

	// LabelKey and Groups are those of the migration reconciler.
	LabelKey string
	Groups   []string

	// Interval is how often everything is looked through while VersionRemovals name the CRD, and at most how long it takes
	// until what could not be moved is tried again. Default: 10 minutes.
	Interval time.Duration

	// Pace is shared with the passes. Default: one of its own.
	Pace *throttle.Pace

	// Room is shared with the passes. Default: one of its own.
	Room *rewrite.Room

	// Recorder receives Events. Default: the manager's.
	Recorder events.EventRecorder

	// Registerer receives the metrics. Default: controller-runtime's registry.
	Registerer prometheus.Registerer

	// Clock is replaced in tests. Default: the real one.
	Clock clock.Clock
}

const (
	defaultInterval = 10 * time.Minute
	// defaultInFlight is the migration's.
	defaultInFlight = 32
)

func (o Options) withDefaults() Options {
	o.LabelKey = cmp.Or(o.LabelKey, v1alpha1.MigrateLabel)
	o.Interval = cmp.Or(o.Interval, defaultInterval)
	o.Registerer = cmp.Or[prometheus.Registerer](o.Registerer, metrics.Registry)
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	if o.Places == nil {
		o.Places = survivors.Embedded()
	}
	if o.NewConverter == nil {
		o.NewConverter = func() embeddedcopies.Converter { return nil }
	}
	if o.Pace == nil {
		o.Pace = throttle.New(throttle.Options{MaxInFlight: defaultInFlight})
	}
	return o
}

var errIncomplete = errors.New("repair: options Migration, Cluster and Losses are required")

func (o Options) validate() error {
	if o.Migration == nil || o.Cluster == nil || o.Losses == nil {
		return errIncomplete
	}
	return nil
}
