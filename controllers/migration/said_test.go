package migration_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// A field manager that has applied a condition keeps its entry for the list item when another manager changes what the
// condition says. The settle time is too long to end, so each proof here would be somebody else's.
func TestAConditionThatSomebodyElseChangedIsNoProof(t *testing.T) {
	for name, c := range map[string]struct {
		proved bool   // by ourselves, before the storage version was changed
		patch  string // of the item at the path %[2]s; %[1]d is the CRD's generation
	}{
		"its status":              {patch: `{"op":"replace","path":"%[2]s/status","value":"True"}`},
		"its status and its text": {patch: `{"op":"replace","path":"%[2]s/status","value":"True"},{"op":"replace","path":"%[2]s/reason","value":"Migrated"},{"op":"replace","path":"%[2]s/message","value":"generation %[1]d: every object is proved, after a settle time of 2h0m0s"}`},
		"its text, about a proof of ours that no longer holds": {proved: true, patch: `{"op":"replace","path":"%[2]s/message","value":"generation %[1]d: every object is proved, after a settle time of 2h0m0s"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, widgets(t).Build())
			w.Create(10)
			forever := w.quick()
			forever.Settle = time.Hour
			if c.proved {
				stop := w.controller(w.quick())
				w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
				stop()
				w.Flip("v1")
			} else {
				w.Flip("v1")
				stop := w.controller(forever)
				w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonSettling))
				stop()
			}
			w.lie()
			w.changeCondition(c.patch)

			w.controller(forever)
			w.Eventually(func() string { return fmt.Sprint(w.Condition().Status, " ", w.Condition().Reason) }, soon).
				Should(Equal("False "+v1alpha1.ReasonSettling), "what another manager wrote is not believed")
		})
	}
}

// What is turned right after it was written looks like the cache that lags. It is looked at again, however long there is nothing else to do.
func TestAConditionThatIsTurnedAtOnceIsPutRight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, widgets(t).Build())
	w.Create(10)
	w.Flip("v1")
	forever := w.quick()
	forever.Settle = time.Hour
	w.controller(forever)
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonSettling))
	w.changeCondition(`{"op":"replace","path":"%[2]s/status","value":"True"}`)
	w.Eventually(func() string { return string(w.Condition().Status) }, soon).Should(Equal("False"))
}

// changeCondition patches our condition as another field manager.
func (w *world) changeCondition(patch string) {
	w.t.Helper()
	crd := w.Live()
	for i, condition := range crd.Status.Conditions {
		if condition.Type != v1alpha1.StorageMigrated {
			continue
		}
		body := fmt.Sprintf("["+patch+"]", crd.Generation, fmt.Sprintf("/status/conditions/%d", i))
		_, err := w.CRDs().Patch(w.ctx, crd.Name, types.JSONPatchType, []byte(body), metav1.PatchOptions{FieldManager: "another"}, "status")
		w.Expect(err).NotTo(HaveOccurred())
		return
	}
	w.t.Fatal("the CRD has no condition of ours to change")
}
