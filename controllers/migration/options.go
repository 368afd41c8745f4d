package migration

import (
	"cmp"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/controllers/steady"
	"github.com/moult-dev/moult/controllers/timeline"
	"github.com/moult-dev/moult/policies/conversion"
)

// Options adjust the reconciler. The zero value is a good one.
type Options struct {
	// LabelKey is the label that opts a CRD in with the value "true". Operators
	// that embed the reconciler use their own, so that it does not meet a Moult
	// installed beside it. Default: moult.dev/migrate.
	LabelKey string

	// Groups limits the API groups looked after, on top of the label. Empty
	// means all.
	Groups []string

	// Settle is how long after a storage flip a write may still land at an older version. It is the longest of 34 s and
	// the API servers' --request-timeout, plus how long the slowest of them takes to notice a CRD change, standing
	// still included. 0 means the default, 90 s.
	Settle time.Duration

	// FieldManager names us in managedFields, and so distinguishes our condition from another installation's. Default:
	// moult, followed by the LabelKey if that is not the default one.
	FieldManager string

	// MaxInFlight bounds the writes under way at any moment, over all CRDs. Below
	// that their number adapts to what the API server can take. Default: 32.
	MaxInFlight int

	// MaxQueued bounds the writes that wait inside the API server, on average.
	// Default: throttle.DefaultMaxQueued.
	MaxQueued float64

	// MaxRate bounds the writes per second, over all CRDs. 0 means no bound.
	MaxRate float64

	// Pace is shared by several reconcilers of one process that are to keep to
	// MaxInFlight, MaxQueued and MaxRate together. Default: one of its own.
	Pace *throttle.Pace

	// Room is shared by several reconcilers of one process, which has one container. Default: one of its own.
	Room *rewrite.Room

	// MaxWalks bounds the CRDs listed at a time; each holds about three pages of
	// metadata. Walks over more CRDs take turns, a page each. Default: 8.
	MaxWalks int

	// PageSize is how many objects are listed at a time, at most: where their
	// metadata is large, pages are smaller. Default: 500.
	PageSize int64

	// NewConverter makes a caller of a CRD's conversion webhook, which finds what owned fields are called at another version.
	// Default: none is called, and an entry with fields that cannot be found otherwise waits.
	NewConverter func(*apiextensionsv1.CustomResourceDefinition) (conversion.Converter, error)

	// Rehearse has conversion webhooks asked first what they would lose; nothing is rewritten then that would lose something.
	// Otherwise webhooks answer for what they do.
	Rehearse bool

	// StateStore connects the removal reconciler. Default: one of its own, which is never asked.
	StateStore *StateStore

	// Timeline is asked right before something is claimed of a CRD. Default: none. Then a manager has to be restarted when etcd
	// is restored.
	Timeline timeline.Checker

	// Recorder receives Events. Default: the manager's.
	Recorder events.EventRecorder

	// Registerer receives the metrics. Default: controller-runtime's registry.
	Registerer prometheus.Registerer

	// Clock is replaced in tests. Default: the real one.
	Clock clock.WithTicker
}

// DefaultSettle covers the longest request and leaves 30 s for an API server that hears of a flip late. Creates,
// updates, patches and deletes are cut off after 34 s. The deletion of a collection, which writes deletionTimestamp at
// the version of its start, is cut off only after --request-timeout, 60 s by default (k8s.io/apiserver
// pkg/endpoints/handlers/delete.go).
const DefaultSettle = 90 * time.Second

// DefaultMaxInFlight keeps API servers busy that answer a write in 20 ms and take
// 1,500 of them a second. It is a bound: what a smaller one can take is found out.
const DefaultMaxInFlight = 32

const defaultMaxWalks = 8

func (o Options) withDefaults() Options {
	o.LabelKey = cmp.Or(o.LabelKey, v1alpha1.MigrateLabel)
	o.Settle = cmp.Or(o.Settle, DefaultSettle)
	o.FieldManager = cmp.Or(o.FieldManager, v1alpha1.FieldManagerOf(v1alpha1.FieldManager, o.LabelKey))
	o.MaxInFlight = cmp.Or(o.MaxInFlight, DefaultMaxInFlight)
	o.MaxWalks = cmp.Or(o.MaxWalks, defaultMaxWalks)
	o.Registerer = cmp.Or[prometheus.Registerer](o.Registerer, metrics.Registry)
	if o.Pace == nil {
		o.Pace = o.NewPace()
	}
	if o.Room == nil {
		o.Room = rewrite.NewRoom()
	}
	if o.NewConverter == nil {
		o.NewConverter = func(crd *apiextensionsv1.CustomResourceDefinition) (conversion.Converter, error) {
			return nil, fmt.Errorf("the conversion webhook of %s cannot be called: migration.Options has no NewConverter", crd.Name)
		}
	}
	if o.StateStore == nil {
		o.StateStore = NewStateStore()
	}
	o.Clock = steady.Of(cmp.Or[clock.WithTicker](o.Clock, clock.RealClock{}))
	return o
}

// NewPace is a pace for several reconcilers to share.
func (o Options) NewPace() *throttle.Pace {
	return throttle.New(throttle.Options{MaxInFlight: o.MaxInFlight, MaxQueued: o.MaxQueued, MaxRate: o.MaxRate})
}
