package migration_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
)

// `moult migrate --settle 1s` beside a controller that waits longer, because an API server of its cluster may lag: the proof of
// the first has not waited for what the second waits for.
func TestAProofAfterAShorterSettleTimeIsNotBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, widgets(t).Build())
	w.Create(10)
	w.Flip("v1")
	// On a busy machine the APIService of a new CRD is written late, and a walk over which it changes counts for nothing.
	w.Eventually(func() error {
		return migration.Run(w.ctx, cp.Config, w.GR.String(), w.quick(), func(migration.Update) {})
	}, soon).Should(Succeed())
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonMigrated))

	longer, shorter := w.quick(), w.quick()
	longer.Settle, shorter.Settle = time.Hour, w.quick().Settle-1
	stop := w.controller(shorter)
	w.Consistently(w.Reason, "1s").Should(Equal(v1alpha1.ReasonMigrated), "a longer one is")
	stop()
	w.controller(longer)
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonSettling))
}
