package migration_test

import (
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
)

// What happens to a CRD while its objects are being walked.

func TestTheLabelIsRemovedInMidPass(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 300)
	writes := &atomic.Int64{}
	opts := w.quick()
	opts.MaxInFlight = 2
	w.controllerAt(intercepted(cp.Config, w.slowWrites(20*time.Millisecond, writes)), opts)
	w.Eventually(writes.Load, soon, "10ms").Should(BeNumerically(">", 20))
	w.Expect(w.reason()).To(Equal(v1alpha1.ReasonMigrating))

	_, err := w.crds.ApiextensionsV1().CustomResourceDefinitions().Patch(w.ctx, w.name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"moult.dev/migrate":null},"annotations":{"careless":"yes"}}}`), metav1.PatchOptions{FieldManager: "a-careless-tool"})
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(w.reason, soon, "50ms").Should(BeEmpty(), "the condition is withdrawn")

	after := writes.Load()
	w.Consistently(writes.Load, "1s").Should(BeNumerically("<=", after+2), "the pass stops")
	w.Expect(w.stored()).To(HaveKeyWithValue("v1alpha1", BeNumerically(">", 0)))
	w.Expect(w.storedVersions()).To(Equal([]string{"v1alpha1", "v1"}))
	w.Eventually(w.eventNotes, soon, "100ms").Should(ContainElement(And(
		ContainSubstring("opt-in label moult.dev/migrate is gone"),
		ContainSubstring(`it was set by field manager "migration.test"`), MatchRegexp(`last write that managedFields record was by .*field manager "a-careless-tool"`))))

	w.update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Labels = map[string]string{v1alpha1.MigrateLabel: "true"}
	})
	w.eventuallyMigrated(300)
}

// eventNotes are the texts of the Events on the CRD.
func (w *world) eventNotes() (notes []string) {
	events, err := kubernetes.NewForConfigOrDie(cp.Config).EventsV1().Events("default").List(w.ctx, metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	for _, e := range events.Items {
		if e.Regarding.Name == w.name {
			notes = append(notes, e.Reason+": "+e.Note)
		}
	}
	return notes
}

func TestTheStorageIsFlippedBackInMidPass(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 200)
	writes := &atomic.Int64{}
	opts := w.quick()
	opts.MaxInFlight = 2
	w.controllerAt(intercepted(cp.Config, w.slowWrites(20*time.Millisecond, writes)), opts)
	w.Eventually(writes.Load, soon, "10ms").Should(BeNumerically(">", 20))

	w.flip("v1alpha1")
	w.Eventually(w.reason, soon, "50ms").Should(Equal(v1alpha1.ReasonMigrated))
	w.Expect(w.stored()).To(Equal(map[string]int{"v1alpha1": 200}))
	w.Expect(w.storedVersions()).To(Equal([]string{"v1alpha1"}))
}

func TestAnEditInMidPassStartsTheProofAgain(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 100)
	opts := w.quick()
	opts.Settle = 3 * time.Second
	w.controller(opts)
	w.Eventually(w.reason, soon, "20ms").Should(Equal(v1alpha1.ReasonSettling))
	edited := time.Now()
	w.update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Names.ShortNames = []string{"wd"} })
	w.eventuallyMigrated(100)
	w.Expect(time.Since(edited)).To(BeNumerically(">=", 3*time.Second), "a whole settle time passes after the edit")
	w.Expect(w.writes()).To(BeEquivalentTo(100))
}

func TestAPauseStopsThePassAndItsEndResumesIt(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 200)
	writes := &atomic.Int64{}
	opts := w.quick()
	opts.MaxInFlight = 2
	w.controllerAt(intercepted(cp.Config, w.slowWrites(20*time.Millisecond, writes)), opts)
	w.Eventually(writes.Load, soon, "10ms").Should(BeNumerically(">", 20))
	w.update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
	})
	w.Eventually(w.reason, soon, "50ms").Should(Equal(v1alpha1.ReasonPaused))
	after := writes.Load()
	w.Consistently(writes.Load, "1s").Should(BeNumerically("<=", after+2))
	w.update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Annotations = nil })
	w.eventuallyMigrated(200)
	w.Expect(w.writes()).To(BeEquivalentTo(200), "what was rewritten before the pause is not written again")
}

func TestAnExpiredListGoesOnWhereItStood(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 100)
	lists, expired := &atomic.Int64{}, &atomic.Int64{}
	opts := w.quick()
	opts.PageSize = 20
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		token := req.URL.Query().Get("continue")
		if w.isList(req) {
			lists.Add(1)
		}
		if w.isList(req) && token != "" && expired.CompareAndSwap(0, 1) {
			return refuse(req, http.StatusGone, "Expired", "the continue token is too old", inconsistent(token), nil), nil
		}
		return next.RoundTrip(req)
	}), opts)
	w.eventuallyMigrated(100)
	w.Expect(expired.Load()).To(BeEquivalentTo(1))
	w.Expect(lists.Load()).To(BeEquivalentTo(11), "five pages a walk, two walks, one page asked for twice: nothing starts over")
}

func TestAControllerKilledAtHalfWritesNothingTwice(t *testing.T) {
	t.Parallel()
	const n = 300
	w := flippedWorld(t, widgets(t), n)
	writes := &atomic.Int64{}
	opts := w.quick()
	opts.MaxInFlight = 4
	stop := w.controllerAt(intercepted(cp.Config, w.slowWrites(5*time.Millisecond, writes)), opts)
	w.Eventually(writes.Load, soon, "5ms").Should(BeNumerically(">=", n/2))
	stop()
	w.Expect(w.stored()).To(HaveKeyWithValue("v1alpha1", BeNumerically(">", 0)), "the controller must be stopped in mid-pass")
	w.controller(w.quick())
	w.eventuallyMigrated(n)
	w.Expect(w.writes()).To(BeNumerically("<=", n*105/100))
}

func TestAControllerStartedAgainBelievesItsOwnProof(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 40)
	stop := w.controller(w.quick())
	w.eventuallyMigrated(40)
	stop()
	before := w.live().ResourceVersion
	lists := &atomic.Int64{}
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isList(req) {
			lists.Add(1)
		}
		return next.RoundTrip(req)
	}), w.quick())
	w.Consistently(lists.Load, "3s").Should(BeZero(), "nothing is walked again")
	w.Expect(w.live().ResourceVersion).To(Equal(before), "nothing is written")
}

func TestAConditionOfSomebodyElseIsNoProof(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 25)
	w.lie()
	crd := w.live()
	crd.Status.Conditions = append(crd.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: v1alpha1.StorageMigrated, Status: apiextensionsv1.ConditionTrue, Reason: v1alpha1.ReasonMigrated,
		Message: v1alpha1.Message(crd.Generation, "trust me"), LastTransitionTime: metav1.Now(),
	})
	_, err := w.crds.ApiextensionsV1().CustomResourceDefinitions().UpdateStatus(w.ctx, crd, metav1.UpdateOptions{FieldManager: "an-impostor"})
	w.Expect(err).NotTo(HaveOccurred())
	w.controller(w.quick())
	w.Eventually(w.stored, soon, "50ms").Should(Equal(map[string]int{"v1": 25}))
}

func TestALabelRemovedWhileNobodyLooksIsNoticedAtTheStart(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	stop := w.controller(w.quick())
	w.eventuallyMigrated(10)
	stop()
	w.update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = nil })
	w.controller(w.quick())
	w.Eventually(w.reason, soon, "50ms").Should(BeEmpty(), "the condition is withdrawn")
	w.Expect(w.storedVersions()).To(Equal([]string{"v1"}))
}

func TestAnotherInstallationsConditionIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t).Label("moult.example.com/mine", "true"), 10)
	mine := w.quick()
	mine.LabelKey = "moult.example.com/mine"
	stop := w.controller(mine)
	w.eventuallyMigrated(10)
	stop()
	w.update(func(crd *apiextensionsv1.CustomResourceDefinition) { delete(crd.Labels, v1alpha1.MigrateLabel) })
	w.controller(w.quick())
	w.Consistently(w.reason, "2s", "100ms").Should(Equal(v1alpha1.ReasonMigrated))
}

func TestAListThatIsDirtyAgainIsProvedAgain(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 40)
	lists := &atomic.Int64{}
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isList(req) {
			lists.Add(1)
		}
		return next.RoundTrip(req)
	}), w.quick())
	w.eventuallyMigrated(40)
	w.Consistently(w.reason, "500ms").Should(Equal(v1alpha1.ReasonMigrated))
	before := lists.Load()

	_, err := w.crds.ApiextensionsV1().CustomResourceDefinitions().Patch(w.ctx, w.name, types.MergePatchType,
		[]byte(`{"status":{"storedVersions":["v1alpha1","v1"]}}`), metav1.PatchOptions{}, "status")
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(w.storedVersions, soon, "20ms").Should(Equal([]string{"v1"}))
	w.Expect(lists.Load()).To(BeNumerically(">", before), "it was not trimmed on the strength of the old proof")
	w.eventuallyMigrated(40)
}

func TestTwoControllersAtOnceDoNotAnswerEachOther(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 60)
	changes, err := w.crds.ApiextensionsV1().CustomResourceDefinitions().Watch(w.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + w.name})
	w.Expect(err).NotTo(HaveOccurred())
	defer changes.Stop()
	seen := &atomic.Int64{}
	go func() {
		for range changes.ResultChan() {
			seen.Add(1)
		}
	}()
	opts := w.quick()
	opts.MaxInFlight = 1
	w.controllerAt(intercepted(cp.Config, w.slowWrites(60*time.Millisecond, &atomic.Int64{})), opts)
	w.Eventually(w.reason, soon, "20ms").Should(Equal(v1alpha1.ReasonVerifying))
	opts.Settle = time.Minute // while the one checks, the other one waits
	w.controller(opts)
	w.eventuallyMigrated(60)
	w.Consistently(w.reason, "6s", "100ms").Should(Equal(v1alpha1.ReasonMigrated))
	w.Expect(seen.Load()).To(And(BeNumerically(">", 3), BeNumerically("<", 40)))
}
