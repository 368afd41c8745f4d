package inspect

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/verdict"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// words are an answer as running.VerdictOf writes that of a VersionRemoval.
func words(a snapshot.Answer) string {
	switch {
	case !a.Known:
		return "unknown: " + a.Why
	case a.State == verdict.Ready:
		return "True " + a.Reason
	case a.State == verdict.Stalled:
		return "False " + a.Reason + " Stalled"
	default:
		return "False " + a.Reason + " Reconciling"
	}
}

// bothSay waits until the gate gives an answer, and until a snapshot does: nothing is decided twice in two ways. What a
// gate says may be a moment older than what the snapshot shows.
func (w *world) bothSay(want string) snapshot.Answer {
	w.t.Helper()
	w.Eventually(w.Verdict, soon).Should(Equal(want), func() string { return w.Message() })
	var a snapshot.Answer
	w.Eventually(func() string {
		a = w.judge(w.take(cp.Config))
		return words(a)
	}, soon).Should(Equal(want), func() string { return a.Message })
	w.Expect(w.Verdict()).To(Equal(want))
	w.Expect(a.Gate).To(HaveField("Ready", a.State == verdict.Ready))
	return a
}

func (w *world) moult(settle time.Duration) (stop func()) {
	w.t.Helper()
	m := running.Quick(w.GR.Group)
	m.Settle = settle
	return w.moultWith(m)
}

func (w *world) moultWith(m migration.Options) (stop func()) {
	w.t.Helper()
	return running.Moult(w.t, cp.Config, m, removal.Options{Namespaces: []string{w.Name.Namespace}})
}

func (w *world) patchGate(body string) {
	w.t.Helper()
	w.Expect(running.Client(w.t, cp.Config).Patch(w.t.Context(), w.Removal(), client.RawPatch(types.MergePatchType, []byte(body)))).To(Succeed())
}

func (w *world) annotate(key, value string) {
	w.t.Helper()
	w.Update(func(c *apiextensionsv1.CustomResourceDefinition) { c.Annotations = map[string]string{key: value} })
}

// From the first install to the day after the removal, the snapshot says what the gate says.
func TestTheSnapshotSaysWhatTheGateSaysAllThroughAMigration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Ask()
	stop := w.moult(time.Hour)
	w.Eventually(w.Verdict, soon).Should(Equal("True NothingStored"))
	w.Expect(words(w.judge(w.take(cp.Config)))).To(Equal("True NothingStored"))

	w.install(w.widgets(), 20)
	w.bothSay("False IntermediateRevisionRequired Stalled")
	w.Flip("v1")
	w.bothSay("False NotOptedIn Stalled")
	w.Update(func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Labels = map[string]string{v1alpha1.MigrateLabel: "true"}
	})
	a := w.bothSay("False Settling Reconciling")
	w.Expect([]any{a.StoredVersions, *a.Objects, a.Proved, a.RepairOnly}).To(Equal([]any{[]string{"v1alpha1", "v1"}, int64(20), false, false}))
	stop()
	w.annotate(v1alpha1.PausedAnnotation, v1alpha1.PausedAnnotationValue)
	stop = w.moult(time.Second)
	w.bothSay("False Paused Reconciling")
	w.annotate(v1alpha1.PausedAnnotation, "false")

	a = w.bothSay("True SafeToRemove")
	w.Expect([]any{a.StoredVersions, *a.Objects, a.Proved, a.Known, a.State}).To(Equal([]any{[]string{"v1"}, int64(20), true, true, verdict.Ready}))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 20}))

	w.patchGate(`{"metadata":{"annotations":{"moult.dev/paused":"true"}}}`)
	w.bothSay("False Paused Reconciling")
	w.patchGate(`{"metadata":{"annotations":null},"spec":{"require":["Unserved","Quiet"],"quietPeriod":"2h"}}`)
	w.bothSay("False StillServed Stalled")
	w.Update(func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Served = false })
	w.bothSay("False StillWritten Reconciling")
	w.patchGate(`{"spec":{"require":null,"quietPeriod":"0s"}}`)
	w.bothSay("True SafeToRemove")

	w.Expect(builders.RemoveVersion(t.Context(), cp.Config, w.GR.String(), "v1alpha1")).To(Succeed())
	w.bothSay("True AlreadyRemoved")
	stop()
}

func TestTheSnapshotSaysWhatTheGateSaysOfObjectsThatFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.widgets().OptedIn(), 12)
	w.Flip("v1")
	webhooks.Refusing(t, cp.Config, w.GR.WithVersion("v1"), "the secret is hunter2", "object-00003")
	w.Name.Namespace = "default" // where the objects are: elsewhere the gate names none
	w.Ask()
	w.moult(time.Second)
	a := w.bothSay("False ObjectsFailed Reconciling")
	w.Expect(a.Blockers).To(ContainElement(HaveField("Message", "default/object-00003: AdmissionDenied")))
	content, err := w.take(cp.Config).Write()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(string(content)).NotTo(ContainSubstring("hunter2"), "what a webhook says of an object is kept")
	content, err = w.take(cp.Config, func(o *Options) { o.NoNames = true }).Write()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(string(content)).NotTo(ContainSubstring("object-"), "an object is named")
}

// Before anybody asks, the storage is proved, and managedFields still name the version: a pull request that brings the
// VersionRemoval and the removal finds this.
func TestBeforeAGateAsksOnlyTheRepairIsLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.widgets().OptedIn(), 12)
	w.Flip("v1")
	stop := running.Migration(t, cp.Config, running.Quick(w.GR.Group))
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	w.Eventually(w.StoredVersions, soon).Should(Equal([]string{"v1"}))
	taken := w.take(cp.Config)
	a := w.judge(taken)
	w.Expect(words(a)).To(Equal("False RepairingOwnership Reconciling"))
	w.Expect([]any{a.Proved, a.RepairOnly, a.Gate == nil}).To(Equal([]any{true, true, true}))
	w.Expect(a.Extra).To(ContainElement(And(HaveField("Kind", snapshot.KindOwned), HaveField("Message", ContainSubstring(builders.FieldManager+" (Update)")))))
	w.Expect(taken.CRDs[0].Objects).To(And(HaveField("Count", int64(12)), HaveField("OwnedAt", map[string]int64{"v1alpha1": 12})))
	stop()

	w.Ask()
	w.moult(time.Second)
	a = w.bothSay("True SafeToRemove")
	w.Expect(a.RepairOnly).To(BeFalse())

	// Somebody goes on writing at the version: the gate stays open, and the snapshot warns.
	w.Expect(builders.CreateObjects(t.Context(), cp.Config, w.GR.WithVersion("v1alpha1"), "default", 3, builders.Prefix("late"))).To(Succeed())
	a = w.judge(w.take(cp.Config))
	w.Expect(words(a)).To(Equal(w.Verdict()))
	w.Expect(a.Extra).To(ContainElement(And(HaveField("Kind", snapshot.KindOwned), HaveField("Message", HavePrefix("3 objects")))))
}

// A clean list is what a person sees, and proves nothing.
func TestWithoutMoultACleanListIsNotBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.widgets().OptedIn(), 12)
	w.Flip("v1")
	w.Expect(words(w.judge(w.take(cp.Config)))).To(HavePrefix("unknown: it is not proved"))
	w.Expect(running.Client(t, cp.Config).Status().Patch(t.Context(), w.Live(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"storedVersions":["v1"]}}`)))).To(Succeed())
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 12}))
	w.Expect(words(w.judge(w.take(cp.Config)))).To(HavePrefix("unknown: it is not proved"))
}
