package removal

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/steady"
	"github.com/moult-dev/moult/controllers/timeline"
	"github.com/moult-dev/moult/policies/plan"
)

// Migration is the side of the migration reconciler that removals see.
type Migration interface {
	// Ask says that asker wants versions of a CRD to go.
	Ask(crd string, asker types.NamespacedName, request plan.Removal)
	// Withdraw takes a request back.
	Withdraw(crd string, asker types.NamespacedName)
	// Status is how far the migration of a CRD is.
	Status(crd string) (plan.MigrationStatus, bool)
	// Changes names CRDs whose status has changed.
	Changes() <-chan string
}

// Recorder records Events.
type Recorder interface {
	Event(object runtime.Object, eventtype, reason, message string)
}

// Options adjust the reconciler.
type Options struct {
	// Migration is asked to do the work. Required.
	Migration Migration

	// LabelKey and Groups are those of the migration reconciler.
	LabelKey string
	Groups   []string

	// Namespaces limits whose VersionRemovals are answered. Empty means all.
	Namespaces []string

	// SurveyInterval is how often managedFields are looked through again while
	// versions wait to be removed. Default: 10 minutes.
	SurveyInterval time.Duration

	// RequestReconcile makes Flux Kustomizations and Argo CD Applications reconcile when
	// a gate opens. It needs a Role of its own.
	RequestReconcile bool
	// Losses is asked what these would lose by that. Default: nothing is asked.
	Losses rewrite.Losses

	// References looks for what else names the versions. Without it there is no look, and a VersionRemoval that
	// requires it stays closed.
	References References

	// Timeline is asked right before a gate opens. Default: none. Then a manager has to be restarted when etcd is restored.
	Timeline timeline.Checker

	// Recorder receives Events. Default: the manager's. One of
	// fluxcd/pkg/runtime/events sends them to Flux's notification-controller too.
	Recorder Recorder

	// Clock is replaced in tests. Default: the real one.
	Clock clock.WithTicker

	machine clock.PassiveClock // what the clock shows, also after it was set
}

const defaultSurveyInterval = 10 * time.Minute

func (o Options) withDefaults() Options {
	o.LabelKey = cmp.Or(o.LabelKey, v1alpha1.MigrateLabel)
	o.SurveyInterval = cmp.Or(o.SurveyInterval, defaultSurveyInterval)
	o.Clock = cmp.Or[clock.WithTicker](o.Clock, clock.RealClock{})
	o.machine = cmp.Or[clock.PassiveClock](o.machine, o.Clock)
	o.Clock = steady.Of(o.Clock)
	return o
}
