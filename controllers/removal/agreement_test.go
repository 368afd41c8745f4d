package removal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/running"
)

// What the CRD says may be removed is what every VersionRemoval that names the version has found safe.

// tenants are the namespaces of a test's own, and the gate's.
func (g *gate) tenants(n int) (namespaces []string, answered change) {
	g.t.Helper()
	namespaces = []string{g.Name.Namespace}
	for range n {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenant-"}}
		g.Expect(g.client.Create(g.ctx, ns)).To(Succeed())
		namespaces = append(namespaces, ns.Name)
	}
	return namespaces, func(_ *migration.Options, r *removal.Options) { r.Namespaces = namespaces }
}

// askIn creates one more VersionRemoval of the gate's name, in another namespace.
func (g *gate) askIn(namespace string, changes ...func(*v1alpha1.VersionRemoval)) client.ObjectKey {
	g.t.Helper()
	g.Ask(append(changes, func(r *v1alpha1.VersionRemoval) { r.Namespace = namespace })...)
	return client.ObjectKey{Namespace: namespace, Name: g.Name.Name}
}

func (g *gate) says() string { return approved(g.Live()) }

// opens waits until another VersionRemoval than the gate's is Ready.
func (g *gate) opens(name client.ObjectKey) {
	g.t.Helper()
	g.Eventually(func(o Gomega) {
		r := &v1alpha1.VersionRemoval{}
		o.Expect(g.client.Get(g.ctx, name, r)).To(Succeed())
		o.Expect(r.Status.ObservedGeneration).To(Equal(r.Generation))
		o.Expect(r.Status.Proof).NotTo(BeNil())
	}, soon).Should(Succeed())
}

func paused(r *v1alpha1.VersionRemoval) {
	r.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
}

func unserved(r *v1alpha1.VersionRemoval) {
	r.Spec.Require = []v1alpha1.Requirement{v1alpha1.Unserved}
}

func TestATenantsGateDoesNotAnswerForThePlatforms(t *testing.T) {
	t.Parallel()
	g := flipped(t, 5)
	namespaces, answered := g.tenants(1)
	g.Ask(paused, unserved)
	tenants := g.askIn(namespaces[1])
	g.moult(answered)
	g.opens(tenants)
	g.eventually("False Paused Reconciling")
	g.queued()
	g.Expect(g.says()).To(BeEmpty(), "the platform has not agreed")

	g.patch(`{"metadata":{"annotations":null}}`)
	g.eventually("False StillServed Stalled")
	g.queued()
	g.Expect(g.says()).To(BeEmpty(), "v1alpha1 is still served, and the platform wants it unserved")

	g.patch(`{"spec":{"require":[]}}`)
	g.eventually("True SafeToRemove")
	g.Eventually(g.says, soon).Should(HaveSuffix(": v1alpha1"))

	g.patch(`{"metadata":{"annotations":{"moult.dev/paused":"true"}}}`)
	g.eventually("False Paused Reconciling")
	g.Eventually(g.says, soon).Should(BeEmpty(), "it is taken back")
}

// Who may create VersionRemovals in one namespace could forbid the platform to remove a version, for ever.
func TestATenantHasNoSayWhereThePlatformSaysWhoHas(t *testing.T) {
	for name, c := range map[string]struct {
		answered, counts []string // platform, pausing, wanting; none: all, and no annotation
		without          bool     // the platform has no VersionRemoval, and a tenant's is open
		says             bool
	}{
		"neither the flag nor the CRD says who has":                  {},
		"the controller's flag does":                                 {answered: []string{"platform"}, says: true},
		"the CRD does":                                               {counts: []string{"platform"}, says: true},
		"the CRD does, and all that it names agree":                  {counts: []string{"platform", "spare"}, says: true},
		"the CRD names a tenant":                                     {counts: []string{"platform", "pausing"}},
		"the CRD names none":                                         {counts: []string{}},
		"the CRD names less than the flag":                           {answered: []string{"platform", "pausing", "wanting"}, counts: []string{"platform"}, says: true},
		"the CRD names more than the flag, and that is not answered": {answered: []string{"platform"}, counts: []string{"platform", "pausing"}},
		"a tenant's alone":                                           {without: true, says: true},
		"a tenant's alone, and the flag names the platform":          {without: true, answered: []string{"platform"}},
		"a tenant's alone, and the CRD names the platform":           {without: true, counts: []string{"platform"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := flipped(t, 5)
			namespaces, _ := g.tenants(3)
			named := func(names []string) (all []string) {
				for _, name := range names {
					all = append(all, namespaces[slices.Index([]string{"platform", "pausing", "wanting", "spare"}, name)])
				}
				return all
			}
			if c.counts != nil {
				g.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
					crd.Annotations = map[string]string{v1alpha1.GateNamespacesAnnotation: strings.Join(named(c.counts), ",")}
				})
			}
			answered := namespaces
			if c.answered != nil {
				answered = named(c.answered)
			}
			open := g.Name
			if c.without {
				open = g.askIn(namespaces[3])
			} else {
				g.Ask()
				g.askIn(namespaces[1], paused)
				g.answered(g.askIn(namespaces[2], unserved))
			}
			g.moult(func(_ *migration.Options, r *removal.Options) { r.Namespaces = answered })
			if slices.Contains(answered, open.Namespace) {
				g.opens(open)
			} else {
				g.Eventually(g.StoredVersions, soon).Should(Equal([]string{"v1"}))
			}
			if !c.says {
				g.Consistently(g.says, "2s", "50ms").Should(BeEmpty())
				return
			}
			g.Eventually(g.says, soon).Should(HaveSuffix(": v1alpha1"))
			g.Consistently(g.says, "2s", "50ms").Should(HaveSuffix(": v1alpha1"))
		})
	}
}

// answered gives a VersionRemoval a status as of a controller that has answered it before: it is not Ready.
func (g *gate) answered(name client.ObjectKey) {
	g.t.Helper()
	r := &v1alpha1.VersionRemoval{}
	g.Expect(g.client.Get(g.ctx, name, r)).To(Succeed())
	g.Expect(g.client.Status().Patch(g.ctx, r, mergePatch(fmt.Sprintf(`{"status":{"observedGeneration":%d,"conditions":[{"type":"Ready","status":"False","reason":"StillServed",
		"message":"v1alpha1 is served","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`, r.Generation)))).To(Succeed())
}

func TestWhatIsNotAnsweredKeepsNoApproval(t *testing.T) {
	for name, c := range map[string]struct {
		while func(g *gate, namespace string) // no controller runs
		stays bool
	}{
		"a new one that is paused":  {while: func(g *gate, namespace string) { g.askIn(namespace, paused) }},
		"a new one that wants more": {while: func(g *gate, namespace string) { g.askIn(namespace, unserved) }},
		"it was deleted, and another, of another version, is left": {while: func(g *gate, namespace string) {
			g.askIn(namespace, func(r *v1alpha1.VersionRemoval) { r.Spec.Versions = []string{"v1beta1"} })
			g.Expect(g.client.Delete(g.ctx, g.Removal())).To(Succeed())
		}},
		"it was paused":    {while: func(g *gate, _ string) { g.patch(`{"metadata":{"annotations":{"moult.dev/paused":"true"}}}`) }},
		"nothing happened": {while: func(*gate, string) {}, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := flipped(t, 5)
			namespaces, answered := g.tenants(1)
			g.Ask()
			stop := g.moult(answered)
			g.eventually("True SafeToRemove")
			stop()
			before := g.says()
			g.Expect(before).To(HaveSuffix(": v1alpha1"))
			c.while(g, namespaces[1])

			written := g.Live().ResourceVersion
			stop = g.moult(answered)
			if !c.stays {
				g.Eventually(g.says, soon).Should(BeEmpty())
			}
			g.Eventually(g.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
			for _, namespace := range namespaces {
				g.queuedIn(namespace)
			}
			stop() // waits for all that was begun
			if c.stays {
				g.Expect(g.says()).To(Equal(before), "a restart takes nothing back")
				g.Expect(g.Live().ResourceVersion).To(Equal(written), "not for a moment either")
				return
			}
			g.Expect(g.says()).To(BeEmpty())
		})
	}
}

func TestAnApprovalGoesWithTheLabel(t *testing.T) {
	for name, c := range map[string]struct{ away, deleted bool }{
		"at once":                                            {},
		"at once, though no VersionRemoval does":             {deleted: true},
		"after the controller was away":                      {away: true},
		"after it was away and the VersionRemoval went, too": {away: true, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := flipped(t, 5)
			g.Ask()
			stop := g.moult()
			g.eventually("True SafeToRemove")
			g.Expect(g.says()).To(HaveSuffix(": v1alpha1"))
			if c.away {
				stop()
			}
			g.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = nil })
			if c.deleted {
				g.Expect(g.client.Delete(g.ctx, g.Removal())).To(Succeed())
			}
			if c.away {
				g.moult()
			}
			g.Eventually(g.says, soon).Should(BeEmpty(), "an admission policy would believe it")
		})
	}
}

// Without the label Moult takes back what is its own and writes nothing else, whatever stands there.
func TestWithoutTheLabelNothingIsContradicted(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	unlabelled := crd.Build()
	unlabelled.Labels = nil
	running.InstallFlipped(t, cp, unlabelled, 1)
	live := g.Live()
	live.Status.Conditions = append(live.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: v1alpha1.VersionsRemovable, Status: apiextensionsv1.ConditionTrue, Reason: v1alpha1.ReasonSafeToRemove,
		Message: v1alpha1.Message(live.Generation, "v1alpha1"),
	})
	g.Expect(g.client.Status().Update(g.ctx, live, client.FieldOwner("another-tool"))).To(Succeed())
	before := g.Live().ResourceVersion
	g.Ask()
	g.moult()
	g.eventually("False NotOptedIn Stalled")
	g.queued()
	g.Expect(g.Live().ResourceVersion).To(Equal(before))
}
