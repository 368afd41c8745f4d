package migration_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/test/builders"
)

// What happens to a CRD while its objects are being walked.

func TestTheLabelIsRemovedInMidPass(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 100)
	valve, _ := w.midPass(20, w.narrow())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrating))

	_, err := w.CRDs().Patch(w.ctx, w.crd.Name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"moult.dev/migrate":null},"annotations":{"careless":"yes"}}}`), metav1.PatchOptions{FieldManager: "a-careless-tool"})
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(w.Reason, soon).Should(BeEmpty(), "the condition is withdrawn")

	w.eventuallyGivenUp(valve)
	valve.open()
	w.Expect(w.Stored()).To(HaveKeyWithValue("v1alpha1", BeNumerically(">=", 100-20-2)))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))
	w.Eventually(w.eventNotes, soon).Should(ContainElement(And(
		ContainSubstring("opt-in label moult.dev/migrate was removed"),
		ContainSubstring(`It was set by field manager "`+builders.FieldManager+`"`), MatchRegexp(`last write that managedFields record was by .*field manager "a-careless-tool"`))))

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Labels = map[string]string{v1alpha1.MigrateLabel: "true"}
	})
	w.eventuallyMigrated(100)
}

// eventNotes are the texts of the Events on the CRD.
func (w *world) eventNotes() (notes []string) {
	events, err := kubernetes.NewForConfigOrDie(cp.Config).EventsV1().Events("default").List(w.ctx, metav1.ListOptions{FieldSelector: "regarding.name=" + w.crd.Name})
	w.Expect(err).NotTo(HaveOccurred())
	for _, e := range events.Items {
		notes = append(notes, e.Reason+": "+e.Note)
	}
	return notes
}

func TestTheStorageIsFlippedBackInMidPass(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 100)
	valve, _ := w.midPass(20, w.narrow())
	w.Flip("v1alpha1")
	valve.open()
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 100}))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1"}))
}

func TestAnEditInMidPassStartsTheProofAgain(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 100)
	opts := w.quick()
	opts.Settle = time.Hour
	valve := w.valve(100, w.isObjectWrite)
	w.controllerAt(intercepted(cp.Config, valve.intercept), opts)
	w.eventuallySettling()
	w.triesAgain()
	w.Eventually(valve.held.Load, soon, "10ms").Should(BeNumerically(">", 0), "all are rewritten, and being checked")
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonVerifying))
	w.looksAgain()
	valve.open()
	w.eventuallySettling() // a whole settle time passes after the edit
	w.triesAgain()
	w.eventuallyMigrated(100)
	w.Expect(w.Writes()).To(BeEquivalentTo(100))
}

func TestAPauseStopsThePassAndItsEndResumesIt(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 100)
	valve, _ := w.midPass(20, w.narrow())
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
	})
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonPaused))
	w.eventuallyGivenUp(valve)
	valve.open()
	w.looksAgain()
	w.Expect(w.Stored()).To(HaveKeyWithValue("v1alpha1", BeNumerically(">=", 100-20-2)))
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Annotations = nil })
	w.eventuallyMigrated(100)
	w.Expect(w.Writes()).To(BeEquivalentTo(100), "what was rewritten before the pause is not written again")
}

func TestAnExpiredListGoesOnWhereItStood(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 100)
	pages, expired := &atomic.Int64{}, &atomic.Int64{}
	opts := w.quick()
	opts.PageSize = 20
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		token := req.URL.Query().Get("continue")
		if w.isList(req) && token != "" && expired.CompareAndSwap(0, 1) {
			return refuse(req, http.StatusGone, "Expired", "the continue token is too old", inconsistent(token), nil), nil
		}
		answer, err := next.RoundTrip(req)
		if w.isList(req) && err == nil && answer.StatusCode == http.StatusOK { // a server that is not ready is asked again
			pages.Add(1)
		}
		return answer, err
	}), opts)
	w.eventuallyMigrated(100)
	w.Expect(expired.Load()).To(BeEquivalentTo(1))
	w.Expect(pages.Load()).To(BeEquivalentTo(10), "five pages a walk, two walks: nothing starts over")
}

func TestAControllerKilledAtHalfWritesNothingTwice(t *testing.T) {
	t.Parallel()
	const n = 100
	w := flippedWorld(t, widgets(t), n)
	_, stop := w.midPass(n/2, w.quick())
	stop()
	w.Expect(w.Stored()).To(HaveKeyWithValue("v1alpha1", BeNumerically(">", 0)), "the controller must be stopped in mid-pass")
	w.controller(w.quick())
	w.eventuallyMigrated(n)
	w.Expect(w.Writes()).To(BeNumerically("<=", n*105/100))
}

func TestAControllerStartedAgainBelievesItsOwnProof(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 40)
	stop := w.controller(w.quick())
	w.eventuallyMigrated(40)
	stop()
	before := w.Live().ResourceVersion
	lists := &atomic.Int64{}
	opts := w.quiet()
	w.controllerAt(intercepted(cp.Config, w.countLists(lists)), opts)
	w.Eventually(func() plan.Step {
		status, _ := opts.StateStore.Status(w.crd.Name) // known after a whole look
		return status.Decision.Step
	}, soon).Should(Equal(plan.Rest))
	w.Expect(w.Live().ResourceVersion).To(Equal(before), "nothing is written")
	w.looksAgain()
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonMigrated))
	w.Expect(lists.Load()).To(BeZero(), "nothing is walked again")
}

func TestAConditionOfSomebodyElseIsNoProof(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 25)
	w.lie()
	crd := w.Live()
	crd.Status.Conditions = append(crd.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: v1alpha1.StorageMigrated, Status: apiextensionsv1.ConditionTrue, Reason: v1alpha1.ReasonMigrated,
		Message: v1alpha1.Message(crd.Generation, "trust me"), LastTransitionTime: metav1.Now(),
	})
	_, err := w.CRDs().UpdateStatus(w.ctx, crd, metav1.UpdateOptions{FieldManager: "an-impostor"})
	w.Expect(err).NotTo(HaveOccurred())
	w.controller(w.quick())
	w.Eventually(w.Stored, soon).Should(Equal(map[string]int{"v1": 25}))
}

func TestALabelRemovedWhileNoMoultRunsIsNoticedAtTheStart(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	stop := w.controller(w.quick())
	w.eventuallyMigrated(10)
	stop()
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = nil })
	w.controller(w.quick())
	w.Eventually(w.Reason, soon).Should(BeEmpty(), "the condition is withdrawn")
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1"}))
}

func TestAnotherInstallationsConditionIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t).Label("moult.example.com/mine", "true"), 10)
	mine := w.quick()
	mine.LabelKey = "moult.example.com/mine"
	stop := w.controller(mine)
	w.eventuallyMigrated(10)
	stop()
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { delete(crd.Labels, v1alpha1.MigrateLabel) })
	other := w.later(builders.CRD(w.GR.Group, "zebras").OptedIn())
	stop = other.controller(w.quick())
	other.Eventually(other.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	stop()
	other.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = nil })
	stop = w.controller(w.quick())
	other.Eventually(other.Reason, soon).Should(BeEmpty(), "it comes later in the list of those that have lost the label")
	stop() // waits for all that is being looked at
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonMigrated))
}

func TestAListThatIsDirtyAgainIsProvedAgain(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 40)
	lists := &atomic.Int64{}
	opts := w.quick()
	opts.StateStore = migration.NewStateStore()
	w.controllerAt(intercepted(cp.Config, w.countLists(lists)), opts)
	w.eventuallyMigrated(40)
	w.Eventually(func() bool {
		status, _ := opts.StateStore.Status(w.crd.Name)
		return status.Evidence.Trimmed
	}, soon).Should(BeTrue(), "the controller has seen the list clean")
	before := lists.Load()

	_, err := w.CRDs().Patch(w.ctx, w.crd.Name, types.MergePatchType,
		[]byte(`{"status":{"storedVersions":["v1alpha1","v1"]}}`), metav1.PatchOptions{}, "status")
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(w.StoredVersions, soon).Should(Equal([]string{"v1"}))
	w.Expect(lists.Load()).To(BeNumerically(">", before), "it was not trimmed on the strength of the old proof")
	w.eventuallyMigrated(40)
}

func TestTwoControllersAtOnceDoNotAnswerEachOther(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 60)
	changes, err := w.CRDs().Watch(w.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + w.crd.Name})
	w.Expect(err).NotTo(HaveOccurred())
	defer changes.Stop()
	seen := &atomic.Int64{}
	go func() {
		for range changes.ResultChan() {
			seen.Add(1)
		}
	}()
	opts := w.quick()
	valve, _ := w.midPass(60, opts) // all are rewritten, and being checked
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonVerifying))
	opts.Settle = time.Minute // while the one checks, the other one waits
	w.controller(opts)
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonSettling))
	before := seen.Load()
	w.forLong(func() {})
	w.Expect(seen.Load()-before).To(BeNumerically("<", 40), "each has said its word, and leaves the other's alone")
	valve.open()
	w.eventuallyMigrated(60)
	w.Expect(seen.Load()).To(BeNumerically(">", 3), "the watch sees what they write")
	// The other one waits longer, so it does not believe that proof. It may have its word once more, and on a slow machine
	// prove it by itself meanwhile.
	before = seen.Load()
	w.forLong(func() {
		w.Expect(w.Reason()).To(BeElementOf(v1alpha1.ReasonMigrated, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying))
	})
	w.Expect(seen.Load() - before).To(BeNumerically("<", 40))
}

// forLong is as long as 100 writes take that each wait for their event, one after the other. Two who answer each other
// do no more for an answer, so the time is long enough for 100 of them, however slow the machine is.
func (w *world) forLong(each func()) {
	w.t.Helper()
	other := w.later(builders.CRD(w.GR.Group, "zebras"))
	changes, err := other.CRDs().Watch(w.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + other.crd.Name})
	w.Expect(err).NotTo(HaveOccurred())
	defer changes.Stop()
	for i := range 100 {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, i)
		written, err := other.CRDs().Patch(w.ctx, other.crd.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		w.Expect(err).NotTo(HaveOccurred())
		for event := range changes.ResultChan() {
			if crd, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition); ok && crd.ResourceVersion == written.ResourceVersion {
				break
			}
		}
		each()
	}
	w.Expect(other.CRDs().Delete(w.ctx, other.crd.Name, metav1.DeleteOptions{})).To(Succeed())
}
