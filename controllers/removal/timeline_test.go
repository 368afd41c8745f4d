package removal_test

import (
	"context"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/controllers/timeline"
)

// All is found safe, and then etcd was restored: the answer is from before the restore.
func TestNoGateOpensOnceEtcdWasRestored(t *testing.T) {
	t.Parallel()
	past := &pastTimeline{}
	g := begun(t, 5, func(_ *migration.Options, r *removal.Options) { r.Timeline = past })
	g.Eventually(past.asked.Load, soon).Should(BeNumerically(">", 2), "it is tried again")
	g.Expect(g.Verdict()).NotTo(HavePrefix("True"))
	g.Expect(g.proof()).To(BeNil())

	past.intact.Store(true)
	g.eventually("True SafeToRemove")
}

// pastTimeline is of an etcd that was restored, until it is intact.
type pastTimeline struct {
	asked  atomic.Int64
	intact atomic.Bool
}

func (p *pastTimeline) Check(context.Context) error {
	if p.asked.Add(1); p.intact.Load() {
		return nil
	}
	return timeline.ErrRestored
}
