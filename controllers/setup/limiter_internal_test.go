package setup

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
)

// However long the API server was not well, what failed is tried again soon after.
func TestWhatFailsIsTriedAgainEveryHalfMinute(t *testing.T) {
	g, limited := NewWithT(t), limiter()
	for range 1000 {
		g.Expect(limited.When(ctrl.Request{})).To(BeNumerically("<=", 30*time.Second))
	}
	g.Expect(limited.When(ctrl.Request{})).To(BeNumerically(">", time.Second), "and not all the time")
}
