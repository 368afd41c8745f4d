package removal_test

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// What the API server lets no client write.
func TestAVersionRemovalThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	g := newGate(t, builders.UniqueGroup(t))
	for name, c := range map[string]struct {
		change func(*v1alpha1.VersionRemovalSpec)
		says   string
	}{
		"no CRD":                   {func(s *v1alpha1.VersionRemovalSpec) { s.CRDName = "" }, "spec.crdName"},
		"a kind in place of a CRD": {func(s *v1alpha1.VersionRemovalSpec) { s.CRDName = "Widget" }, "crdName is the plural and the group"},
		"no version":               {func(s *v1alpha1.VersionRemovalSpec) { s.Versions = nil }, "spec.versions"},
		"a version twice":          {func(s *v1alpha1.VersionRemovalSpec) { s.Versions = []string{"v1", "v1"} }, "each version may be named once only"},
		"no version's name":        {func(s *v1alpha1.VersionRemovalSpec) { s.Versions = []string{"V1!"} }, "spec.versions[0]"},
		"an unknown requirement":   {func(s *v1alpha1.VersionRemovalSpec) { s.Require = []v1alpha1.Requirement{"Luck"} }, `"Unserved", "Quiet"`},
		"a negative quiet period":  {func(s *v1alpha1.VersionRemovalSpec) { s.QuietPeriod = metav1.Duration{Duration: -time.Hour} }, "quietPeriod cannot be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			removal := &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{GenerateName: "refused-", Namespace: "default"},
				Spec: v1alpha1.VersionRemovalSpec{CRDName: "widgets.example.com", Versions: []string{"v1alpha1"}}}
			c.change(&removal.Spec)
			g.Expect(running.Client(t, cp.Config).Create(t.Context(), removal)).To(MatchError(ContainSubstring(c.says)))
		})
	}
	g.Ask()
	err := g.client.Patch(g.ctx, g.Removal(), mergePatch(`{"spec":{"crdName":"others.example.com"}}`))
	g.Expect(err).To(MatchError(ContainSubstring("crdName cannot be changed; make another VersionRemoval")))
}

func TestAnObjectThatIsRefusedIsABlockerUntilItIsNot(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 20) // in another namespace than the gate
	g.Expect(builders.CreateObjects(g.ctx, cp.Config, g.GR.WithVersion("v1alpha1"), g.Name.Namespace, 1, builders.Prefix("mine"))).To(Succeed())
	g.Flip("v1")
	hook := webhooks.Refusing(t, cp.Config, g.GR.WithVersion("v1"), "the freezer is locked", "object-00007", "mine-00000")
	g.Ask()
	g.moult()
	g.eventually("False ObjectsFailed Reconciling")
	g.Eventually(g.blockers, soon).Should(ConsistOf(
		And(HaveField("Kind", v1alpha1.ReasonObjectsFailed), HaveField("Action", Not(BeEmpty())),
			HaveField("Message", And(ContainSubstring(g.Name.Namespace+"/mine-00000"), ContainSubstring("the freezer is locked")))),
		And(HaveField("Kind", v1alpha1.ReasonObjectsFailed), HaveField("Action", Not(BeEmpty())),
			HaveField("Message", "1 object of other namespaces, or too many to name: AdmissionDenied"))))
	g.Eventually(g.progress, soon).Should(Equal("19/21, 2 failed"))

	status, err := json.Marshal(g.Removal().Status)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(status)).NotTo(ContainSubstring("object-00007"), "it is not this namespace's")
	events := &corev1.EventList{}
	g.Expect(g.client.List(g.ctx, events, client.InNamespace(g.Name.Namespace))).To(Succeed())
	for _, e := range events.Items {
		g.Expect(e.Message).NotTo(Or(ContainSubstring("object-00007"), ContainSubstring("the freezer")))
	}
	g.Expect(g.Condition().Message).To(And(ContainSubstring("default/object-00007"), ContainSubstring("the freezer is locked")), "who may read the CRD is told")

	hook.Allow("object-00007", "mine-00000")
	g.eventually("True SafeToRemove")
	g.Eventually(g.blockers, soon).Should(BeEmpty())
}

func TestARequestToLookAgainIsAnswered(t *testing.T) {
	t.Parallel()
	g := begun(t, 10)
	g.eventually("True SafeToRemove")
	g.Eventually(g.proof, soon).ShouldNot(BeNil())
	before := g.proof()

	// An entry at the version appears behind the survey's back; the request finds
	// and moves it, and the gate stays open meanwhile.
	g.Expect(builders.CreateObjects(g.ctx, cp.Config, g.GR.WithVersion("v1alpha1"), "default", 1, builders.Prefix("late"))).To(Succeed())
	g.Expect(g.versionsInManagedFields()).To(HaveKey(g.GR.Group + "/v1alpha1"))
	g.patch(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"now"}}}`)
	g.Eventually(func() string { return g.Removal().Status.LastHandledReconcileAt }, soon).Should(Equal("now"))
	g.Eventually(g.versionsInManagedFields, soon).ShouldNot(HaveKey(g.GR.Group + "/v1alpha1"))
	g.Expect(g.Verdict()).To(Equal("True SafeToRemove"))
	after := g.proof()
	after.SurveyedAt = before.SurveyedAt // it was looked at again
	g.Expect(after).To(Equal(before))
}
