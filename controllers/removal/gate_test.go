package removal_test

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
)

// widgets is a CRD whose objects are stored at v1alpha1, and its gate.
func widgets(t *testing.T) (*gate, *builders.CRDBuilder) {
	t.Helper()
	group := builders.UniqueGroup(t)
	return newGate(t, group), builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn()
}

func TestTheGateOpensOnlyWhenNothingIsStoredAtTheVersion(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 60)
	g.flip()
	g.ask()
	g.moult(func(m *migration.Options, _ *removal.Options) { m.Settle = 3 * time.Second })
	g.Eventually(g.verdict, soon, "10ms").Should(Equal("False Settling Reconciling"))
	g.Expect(g.crd().Status.StoredVersions).To(ContainElement("v1alpha1"))
	g.eventually("True SafeToRemove")
	g.Expect(g.stored()).To(Equal(map[string]int{"v1": 60}))
	g.Eventually(func() *v1alpha1.ProofStatus { return g.removal().Status.Proof }, soon, "20ms").Should(Equal(&v1alpha1.ProofStatus{UID: string(g.crd().UID), Generation: g.crd().Generation, StorageVersion: "v1"}))
	r := g.removal()
	g.Expect(r.Status.Progress.Summary).To(Equal("60/60"))
	g.Expect(r.Status.Warnings).To(ContainElement(HaveField("Kind", v1alpha1.ReasonStillServed)))

	g.Expect(builders.RemoveVersion(g.ctx, cp.Config, g.gr.String(), "v1alpha1")).To(Succeed())
	g.eventually("True AlreadyRemoved")
}

func TestTheGateIsReadyWithinTwoSecondsOfTheTrim(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 30)
	g.flip()
	g.ask()
	g.moult()
	g.Eventually(func() []string { return g.crd().Status.StoredVersions }, soon, "10ms").Should(Equal([]string{"v1"}))
	trimmed := time.Now()
	g.eventually("True SafeToRemove")
	g.Expect(time.Since(trimmed)).To(BeNumerically("<", 2*time.Second))
}

func TestAFreshClusterDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.ask()
	g.moult()
	g.eventually("True NothingStored")

	// The CRD arrives without the version, as on a cluster built from Git.
	g.Expect(builders.Install(g.ctx, cp.Config, builders.CRD(g.gr.Group, "widgets").OptedIn().Build())).To(Succeed())
	t.Cleanup(func() { _ = g.client.Delete(g.t.Context(), g.crdObject()) })
	g.eventually("True AlreadyRemoved")
	_ = crd
}

func TestARollbackOfTheRemovalClosesTheGateUntilItIsProvedAgain(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 20)
	g.flip()
	g.ask()
	g.moult()
	g.eventually("True SafeToRemove")
	g.Expect(builders.RemoveVersion(g.ctx, cp.Config, g.gr.String(), "v1alpha1")).To(Succeed())
	g.eventually("True AlreadyRemoved")
	g.update(func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions = crd.Build().Spec.Versions })
	g.eventually("False IntermediateRevisionRequired Stalled")
	g.flip()
	g.eventually("True SafeToRemove")
}

func TestFlipAndRemovalInOneCommitNameTheMissingOne(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 10)
	g.ask()
	g.moult()
	g.eventually("False IntermediateRevisionRequired Stalled")
	g.Expect(g.message()).To(And(ContainSubstring("v1alpha1 is still the storage version"), ContainSubstring("keeps v1alpha1 (storage: false)")))
	g.flip()
	g.eventually("True SafeToRemove")
}

func TestAListThatSomeoneElseCleanedIsNotBelieved(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 40)
	g.flip()
	c := g.crdObject()
	g.Expect(g.client.Status().Patch(g.ctx, c, client.RawPatch(types.MergePatchType, []byte(`{"status":{"storedVersions":["v1"]}}`)))).To(Succeed())
	g.ask()
	g.moult(func(m *migration.Options, _ *removal.Options) { m.Settle = 3 * time.Second })
	g.Eventually(g.verdict, soon, "20ms").Should(HavePrefix("False"))
	g.Consistently(func() bool {
		return g.verdict() != "True SafeToRemove" || len(g.stored()) == 1 && g.stored()["v1"] == 40
	}, "8s", "50ms").Should(BeTrue(), "ready while objects are stored at v1alpha1")
	g.eventually("True SafeToRemove")
}

func TestACRDWithoutTheLabelIsNotTouchedAndSaysWhatToAdd(t *testing.T) {
	t.Parallel()
	group := builders.UniqueGroup(t)
	g := newGate(t, group)
	g.install(builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1"), 10)
	g.flip()
	before := g.crd().ResourceVersion
	g.ask()
	g.moult()
	g.eventually("False NotOptedIn Stalled")
	g.Expect(g.message()).To(And(ContainSubstring(`moult.dev/migrate: "true"`), ContainSubstring("clusters/components/opt-in"), ContainSubstring("storedVersions still names v1alpha1")))
	g.Consistently(func() string { return g.crd().ResourceVersion }, "2s").Should(Equal(before), "a VersionRemoval gives no right to write")
	g.Expect(g.stored()).To(Equal(map[string]int{"v1alpha1": 10}))

	g.update(func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Labels = map[string]string{v1alpha1.MigrateLabel: "true"}
	})
	g.eventually("True SafeToRemove")
}

func TestAVersionRemovalOfAnotherNamespaceIsNotAnswered(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 5)
	g.flip()
	g.ask()
	g.moult(func(_ *migration.Options, r *removal.Options) { r.Namespaces = []string{"elsewhere"} })
	g.Eventually(func() []string { return g.crd().Status.StoredVersions }, soon, "50ms").Should(Equal([]string{"v1"}))
	g.Consistently(g.verdict, "1s").Should(BeEmpty())
	g.Expect(g.removal().Status.ObservedGeneration).To(BeEquivalentTo(-1), "kstatus waits for an answer")
}

func TestAPausedGateStaysShut(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 5)
	g.flip()
	g.ask(func(r *v1alpha1.VersionRemoval) { r.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"} })
	g.moult()
	g.eventually("False Paused Reconciling")
	g.Eventually(func() []string { return g.crd().Status.StoredVersions }, soon, "50ms").Should(Equal([]string{"v1"}))
	g.Consistently(g.verdict, "1s").Should(Equal("False Paused Reconciling"))
	r := g.removal()
	g.Expect(g.client.Patch(g.ctx, r, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`)))).To(Succeed())
	g.eventually("True SafeToRemove")
}

func TestRequirementsHoldTheGateOrWarn(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 5)
	g.flip()
	g.ask(func(r *v1alpha1.VersionRemoval) {
		r.Spec.Require = []v1alpha1.Requirement{v1alpha1.Unserved, v1alpha1.Quiet}
		r.Spec.QuietPeriod = metav1.Duration{Duration: 12 * time.Second}
	})
	created := time.Now()
	g.moult()
	g.eventually("False StillServed Stalled")
	g.Expect(g.message()).To(ContainSubstring("v1alpha1 is still served"))

	g.update(func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Served = false })
	g.eventually("False StillWritten Reconciling")
	g.Eventually(func() []v1alpha1.Blocker { return g.removal().Status.Blockers }, soon, "20ms").Should(ContainElement(And(
		HaveField("Kind", v1alpha1.ReasonStillWritten), HaveField("Message", ContainSubstring("field manager removal.test (Update) wrote 5 objects at v1alpha1")))))
	g.eventually("True SafeToRemove")
	g.Expect(time.Since(created)).To(BeNumerically(">", 8*time.Second), "the quiet period is waited out")
}

func TestARestartDoesNotCloseAnOpenGate(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 30)
	g.flip()
	g.ask()
	stop := g.moult()
	g.eventually("True SafeToRemove")
	before := g.removal().ResourceVersion
	stop()
	g.moult()
	g.Consistently(g.verdict, "4s", "20ms").Should(Equal("True SafeToRemove"))
	g.Expect(g.removal().ResourceVersion).To(Equal(before), "nothing new is to be said")
}

func TestAnEditOfTheCRDClosesTheGateOnlyForALook(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 30)
	g.flip()
	g.ask()
	g.moult()
	g.eventually("True SafeToRemove")
	g.update(func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Names.ShortNames = []string{"wd"} })
	g.Eventually(func() int64 {
		if p := g.removal().Status.Proof; p != nil {
			return p.Generation
		}
		return 0
	}, soon, "20ms").Should(Equal(g.crd().Generation))
	g.eventually("True SafeToRemove")
}

func TestAVersionAddedToAnOpenGateIsLookedAtFirst(t *testing.T) {
	t.Parallel()
	group := builders.UniqueGroup(t)
	g := newGate(t, group)
	g.install(builders.CRD(group, "widgets").Versions("v1alpha1", "v1beta1", "v1").Storage("v1alpha1").OptedIn(), 5)
	g.Expect(builders.CreateObjects(g.ctx, cp.Config, g.gr.WithVersion("v1beta1"), "default", 30, builders.Prefix("beta"))).To(Succeed())
	g.flip()
	g.ask()
	g.moult()
	g.eventually("True SafeToRemove")
	g.Expect(g.versionsInManagedFields()).To(HaveKey(group + "/v1beta1"))

	g.Expect(g.client.Patch(g.ctx, g.removal(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"versions":["v1alpha1","v1beta1"]}}`)))).To(Succeed())
	g.Eventually(func() bool {
		r := g.removal()
		return r.Generation == r.Status.ObservedGeneration && g.verdict() == "True SafeToRemove"
	}, soon, "5ms").Should(BeTrue())
	g.Expect(g.versionsInManagedFields()).To(HaveLen(1), "ready while managedFields name v1beta1")
}

// versionsInManagedFields are the apiVersions that the objects' managedFields
// name.
func (g *gate) versionsInManagedFields() map[string]bool {
	g.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(g.gr.Group + "/v1")
	list.SetKind("WidgetList")
	g.Expect(g.client.List(g.ctx, list)).To(Succeed())
	versions := map[string]bool{}
	for _, item := range list.Items {
		for _, entry := range item.GetManagedFields() {
			versions[entry.APIVersion] = true
		}
	}
	return versions
}

func TestADeletedVersionRemovalAsksNoMore(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.install(crd, 5)
	g.flip()
	g.ask()
	g.moult()
	g.eventually("True SafeToRemove")
	g.Expect(g.client.Delete(g.ctx, g.removal())).To(Succeed())
	g.Eventually(func() error { return g.client.Get(g.ctx, g.name, &v1alpha1.VersionRemoval{}) }, soon).ShouldNot(Succeed())
}

// What kubectl get vr prints.
func TestALineAPersonUnderstands(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.ask()
	line := func() []any {
		table := &metav1.Table{}
		cfg := rest.CopyConfig(cp.Config)
		cfg.GroupVersion, cfg.APIPath, cfg.NegotiatedSerializer = &v1alpha1.GroupVersion, "/apis", serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
		c, err := rest.RESTClientFor(cfg)
		g.Expect(err).NotTo(HaveOccurred())
		raw, err := c.Get().Namespace(g.name.Namespace).Resource("versionremovals").
			SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").Do(g.ctx).Raw()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(json.Unmarshal(raw, table)).To(Succeed())
		cells := table.Rows[0].Cells
		return append(cells[:6:6], cells[7]) // without AGE
	}
	row := func(ready, reason, progress any) []any {
		return []any{"no-v1alpha1", g.gr.String(), `["v1alpha1"]`, ready, reason, progress, Not(BeEmpty())}
	}
	g.Expect(line()).To(Equal([]any{"no-v1alpha1", g.gr.String(), `["v1alpha1"]`, nil, nil, nil, nil}), "nobody has answered yet")
	g.install(crd, 20)
	g.moult(func(m *migration.Options, _ *removal.Options) { m.Settle = 2 * time.Second })
	g.Eventually(line, soon).Should(HaveExactElements(row("False", "IntermediateRevisionRequired", nil)...))
	g.flip()
	g.Eventually(line, soon, "20ms").Should(ContainElements("False", "Settling", "20/20"))
	g.eventually("True SafeToRemove")
	g.Eventually(line, soon).Should(HaveExactElements(row("True", "SafeToRemove", "20/20")...))
}
