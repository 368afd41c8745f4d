package migration

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/plan"
)

// recorder holds the metrics, all but the pace labelled by CRD.
type recorder struct {
	objects   *prometheus.CounterVec // by outcome
	failures  *prometheus.CounterVec // by reason
	remaining *prometheus.GaugeVec
	migrated  *prometheus.GaugeVec
	walk      *prometheus.GaugeVec // by mode
	proof     *prometheus.GaugeVec
	pace      prometheus.GaugeFunc
}

func newRecorder(reg prometheus.Registerer, writesAtATime func() float64) (*recorder, error) {
	r := &recorder{
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "moult_objects_total",
			Help: "Objects visited by finished walks, by outcome: rewritten, current, overtaken, altered, repaired, gone, failed."}, []string{"crd", "outcome"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "moult_object_failures_total",
			Help: "Objects that could not be rewritten, by reason."}, []string{"crd", "reason"}),
		remaining: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_objects_remaining",
			Help: "Objects the walk under way has still to visit."}, []string{"crd"}),
		migrated: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_storage_migrated",
			Help: "1 if every object is proved to be stored at the storage version, else 0."}, []string{"crd"}),
		walk: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_pass_seconds",
			Help: "Duration of the last finished walk, by mode: Rewriting, Checking or Surveying."}, []string{"crd", "mode"}),
		proof: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "moult_proof_seconds",
			Help: "Time from the first sight of the storage version to the trim."}, []string{"crd"}),
		pace: prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "moult_pace_writes",
			Help: "Writes that may be under way at the moment, as the API server's answers allow."}, writesAtATime),
	}
	return r, errors.Join(setup.Register(reg, &r.objects), setup.Register(reg, &r.failures), setup.Register(reg, &r.remaining),
		setup.Register(reg, &r.migrated), setup.Register(reg, &r.walk), setup.Register(reg, &r.proof), setup.Register(reg, &r.pace))
}

func (r *recorder) observed(crd string, o plan.Observation, d plan.Decision) {
	migrated := 0.0
	if d.Reason == v1alpha1.ReasonMigrated {
		migrated = 1
	}
	r.migrated.WithLabelValues(crd).Set(migrated)
	remaining := 0.0
	if o.Walking != nil {
		remaining = float64(o.Walking.Counts.Total - o.Walking.Counts.Done())
	}
	r.remaining.WithLabelValues(crd).Set(remaining)
}

func (r *recorder) walked(crd string, mode plan.Mode, t rewrite.Result, took time.Duration) {
	for outcome, n := range t.By {
		r.objects.WithLabelValues(crd, string(outcome)).Add(float64(n))
	}
	for reason, n := range t.FailedBy {
		r.failures.WithLabelValues(crd, reason).Add(float64(n))
	}
	r.walk.WithLabelValues(crd, string(mode)).Set(took.Seconds())
}

func (r *recorder) proved(crd string, took time.Duration) {
	r.proof.WithLabelValues(crd).Set(took.Seconds())
}

// forget drops the series of a CRD that is no longer looked after.
func (r *recorder) forget(crd string) {
	match := prometheus.Labels{"crd": crd}
	r.objects.DeletePartialMatch(match)
	r.failures.DeletePartialMatch(match)
	r.remaining.DeletePartialMatch(match)
	r.migrated.DeletePartialMatch(match)
	r.walk.DeletePartialMatch(match)
	r.proof.DeletePartialMatch(match)
}
