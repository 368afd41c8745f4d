package repair

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kind is a kind of what outlives a version, and how it is repaired.
type kind interface {
	// wanted tells whether a CRD asks for it.
	wanted(crd metav1.Object) bool
	// repair looks at everything, does what can be done for some CRDs, and tells what it has found for each. It ends early with ctx.
	repair(ctx context.Context, subjects []subject) map[string]finding
	// forget drops the gauges of a CRD.
	forget(crd string)
}

// finding is what a repair has found for one CRD.
type finding interface {
	// stopped is true if it was not wanted any more, or the process ends.
	stopped() bool
	// outcome is never better than what was seen.
	outcome() outcome
	// measure puts it into the metrics.
	measure(crd string)
	// sayings are what there is to tell: nothing if nothing was found, and all was looked at.
	sayings(s subject) []saying
}

// saying is one Event.
type saying struct {
	reason, text string
	// normal: nobody has to do anything.
	normal bool
}
