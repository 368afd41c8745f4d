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

// flips makes a version the storage version, as a manager of its own, and waits until the controller has seen it.
func (w *world) flips(manager, version string) {
	w.t.Helper()
	w.Eventually(func() error {
		crd := w.Live()
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
		}
		_, err := w.CRDs().Update(w.ctx, crd, metav1.UpdateOptions{FieldManager: manager})
		return err
	}, soon).Should(Succeed())
	w.Eventually(w.speaksOfNow, soon).Should(BeTrue())
}

// A provider that reconciles its CRDs sets a flip back. The second time that is a fight, which no rewriting can end: it is named, and
// goes on when one of the two has given in.
func TestAFlipThatIsUndoneTwiceIsNamedAndNotFought(t *testing.T) {
	t.Parallel()
	const n = 5
	w := newWorld(t, widgets(t).Build())
	w.Create(n)
	stop := w.controller(w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	for range 2 {
		w.flips("team", "v1")
		w.Expect(w.Reason()).NotTo(Equal(v1alpha1.ReasonUndone))
		w.flips("provider", "v1alpha1")
	}
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonUndone))
	w.Expect(w.Condition().Message).To(HaveSuffix(`the storage version goes to and fro: field manager "team" (Update) set it to v1, and field manager "provider" (Update) set it to v1alpha1, again and again; nothing is rewritten until it has stayed for 10 minutes`))
	writes := w.Writes()
	stop()
	w.controller(w.quick()) // it reads from the condition what the one before has seen
	w.flips("team", "v1")
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonUndone))
	w.Expect(w.Condition().Message).To(ContainSubstring(`field manager "provider" (Update) set it to v1alpha1, and field manager "team" (Update) set it to v1`))
	w.looksAgain()
	w.Expect(w.Writes()).To(Equal(writes), "no object is written")

	w.triesAgain()
	w.eventuallyMigrated(n)
}

// So it is with the opt-in label, which Moult never sets itself.
func TestALabelThatIsUndoneTwiceIsNamedAndNotFought(t *testing.T) {
	t.Parallel()
	w := newWorld(t, widgets(t).Build())
	heard := w.warned()
	removed := func() []string { return heard.notes(v1alpha1.EventOptInRemoved) }
	unlabel := fmt.Sprintf(`{"metadata":{"labels":{%q:null},"annotations":{"provider":%%q}}}`, v1alpha1.MigrateLabel)
	h := hands{t, w.Witness}
	for i := range 2 {
		h.label("kubectl-label")
		w.Eventually(w.Reason, soon).ShouldNot(BeEmpty())
		w.Expect(w.Reason()).NotTo(Equal(v1alpha1.ReasonUndone))
		h.patch(types.MergePatchType, fmt.Sprintf(unlabel, time.Now().String()), metav1.PatchOptions{FieldManager: "provider"})
		w.Eventually(removed, soon).Should(HaveLen(i + 1))
		w.Eventually(w.Reason, soon).Should(BeEmpty())
	}
	w.Expect(removed()[1]).To(And(ContainSubstring(`field manager "provider" (Update)`), HaveSuffix("That was the second time within an hour; Moult does not set it itself")))
	h.label("kubectl-label")
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonUndone))
	w.Expect(w.Condition().Message).To(And(ContainSubstring("the opt-in label goes to and fro: "), ContainSubstring(`field manager "provider" (Update) at `), ContainSubstring(`took it off, and field manager "kubectl-label" (Update) set it, again and again`)))
}
