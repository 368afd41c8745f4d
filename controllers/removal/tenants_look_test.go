package removal_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// One look through the cluster answers the platform and its tenants.

// lookingThrough looks at the rules of webhooks, as moult-controller does with --references.
func lookingThrough(t *testing.T, m *migration.Options, r *removal.Options) {
	t.Helper()
	cluster, err := inspect.Connect(cp.Config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	r.References, r.SurveyInterval = rulesIn{cluster}, 2*time.Second
	m.Settle = time.Second
}

type rulesIn struct{ cluster *inspect.Cluster }

func (l rulesIn) Look(ctx context.Context, targets []survivors.Target) (survivors.Report, error) {
	return l.cluster.Survivors(ctx, inspect.SurvivorSearch{Places: survivors.Embedded(), Targets: targets, Most: 5})
}

// webhookFor is a validating webhook whose rule names versions of the gate's CRD, and that is never reached.
func (g *gate) webhookFor(versions ...string) {
	g.t.Helper()
	none, ignore, equivalent, url := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Ignore, admissionregistrationv1.Equivalent, "https://127.0.0.1:1/"
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{GenerateName: "platform-"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		Name: "widgets.example.com", SideEffects: &none, FailurePolicy: &ignore, MatchPolicy: &equivalent, AdmissionReviewVersions: []string{"v1"},
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url},
		Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{g.GR.Group}, APIVersions: versions, Resources: []string{"widgets"}}}},
	}}}
	g.Expect(g.client.Create(g.ctx, hook)).To(Succeed())
	g.t.Cleanup(func() { _ = g.client.Delete(context.Background(), hook) })
}

func noReferences(r *v1alpha1.VersionRemoval) {
	r.Spec.Require = []v1alpha1.Requirement{v1alpha1.NoReferences}
}

// A rule of the platform's webhook goes on matching by the version beside v1alpha1. A tenant asks for that version to leave, for
// all that the platform wants it to stay.
func TestATenantThatAsksForAVersionThatStaysDoesNotCloseThePlatformsOpenGate(t *testing.T) {
	for name, c := range map[string]struct {
		rule, tenant []string
		counts       bool // the tenant has a say in what the CRD calls removable
		closes       bool
		migrates     []string // what the migration is asked for
	}{
		"the storage version":                                            {rule: []string{"v1alpha1", "v1"}, tenant: []string{"v1"}, counts: true, migrates: []string{"v1alpha1"}},
		"the storage version and one that the rule names":                {rule: []string{"v1alpha1", "v1beta1"}, tenant: []string{"v1", "v1beta1"}, counts: true, migrates: []string{"v1alpha1"}},
		"a version in use, where the tenant has no say":                  {rule: []string{"v1alpha1", "v1beta1"}, tenant: []string{"v1beta1"}, migrates: []string{"v1alpha1", "v1beta1"}},
		"the next version, and both may be removed together by a commit": {rule: []string{"v1alpha1", "v1beta1"}, tenant: []string{"v1beta1"}, counts: true, closes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := builders.UniqueGroup(t)
			g := newGate(t, group)
			crd := builders.CRD(group, "widgets").Versions("v1alpha1", "v1beta1", "v1").Storage("v1alpha1").OptedIn().Build()
			running.InstallFlipped(t, cp, crd, 3)
			g.webhookFor(c.rule...)
			namespaces, answered := g.tenants(1)
			if !c.counts {
				g.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
					metav1.SetMetaDataAnnotation(&crd.ObjectMeta, v1alpha1.GateNamespacesAnnotation, namespaces[0])
				})
			}
			store := migration.NewStateStore()
			g.Ask(noReferences)
			g.moult(answered, func(m *migration.Options, r *removal.Options) { m.StateStore = store; lookingThrough(t, m, r) })
			g.eventually("True SafeToRemove")
			g.Eventually(g.says, soon).Should(HaveSuffix(": v1alpha1"))

			asked := time.Now()
			tenants := g.askIn(namespaces[1], naming(c.tenant...), noReferences)
			if c.closes {
				g.eventually("False StillReferenced Stalled")
				g.Eventually(g.says, soon).Should(BeEmpty())
				return
			}
			g.Eventually(func() int64 {
				r := &v1alpha1.VersionRemoval{}
				g.Expect(g.client.Get(g.ctx, tenants, r)).To(Succeed())
				return r.Status.ObservedGeneration
			}, soon).Should(BeNumerically(">", 0))
			g.Eventually(g.proof, soon).Should(HaveField("ReferencesAt.Time", BeTemporally(">", asked.Add(time.Second))),
				func() string {
					return "a look that began after the tenant had asked finds nothing of the platform's: " + g.Message()
				})
			g.Consistently(g.Verdict, "3s", "50ms").Should(Equal("True SafeToRemove"), func() string { return g.Message() })
			g.Expect(g.says()).To(HaveSuffix(": v1alpha1"), "an admission policy lets the removal pass")
			g.Expect(store.Asked(g.GR.String())).To(Equal(c.migrates), "the storage version can never go, so its managedFields are left alone")
		})
	}
}
