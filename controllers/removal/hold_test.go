package removal_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
)

// Who and what keeps a gate shut, and what a person sees of it.

func TestACRDWithoutTheLabelIsNotTouchedAndSaysWhatToAdd(t *testing.T) {
	t.Parallel()
	group := builders.UniqueGroup(t)
	g := newGate(t, group)
	g.install(builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1"), 10)
	g.Flip("v1")
	before := g.Live().ResourceVersion
	g.Ask()
	g.moult()
	g.eventually("False NotOptedIn Stalled")
	g.Expect(g.Message()).To(And(ContainSubstring(`moult.dev/migrate: "true"`), ContainSubstring("clusters/components/opt-in"), ContainSubstring("storedVersions still names v1alpha1")))
	g.queued()
	g.Expect(g.Live().ResourceVersion).To(Equal(before), "a VersionRemoval gives no right to write")
	g.Expect(g.Stored()).To(Equal(map[string]int{"v1alpha1": 10}))

	g.Update(func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Labels = map[string]string{v1alpha1.MigrateLabel: "true"}
	})
	g.eventually("True SafeToRemove")
}

func TestAVersionRemovalOfAnotherNamespaceIsNotAnswered(t *testing.T) {
	t.Parallel()
	g := flipped(t, 5)
	g.Ask()
	namespaces, _ := g.tenants(1)
	g.askIn(namespaces[1])
	stop := g.moult(func(_ *migration.Options, r *removal.Options) { r.Namespaces = namespaces[1:] })
	g.Eventually(g.StoredVersions, soon).Should(Equal([]string{"v1"}))
	g.queuedIn(namespaces[1])
	stop() // waits for all that was begun
	g.Expect(g.Verdict()).To(BeEmpty())
	g.Expect(g.Removal().Status.ObservedGeneration).To(BeEquivalentTo(-1), "kstatus waits for an answer")
}

func TestAPausedGateStaysShut(t *testing.T) {
	t.Parallel()
	g := flipped(t, 5)
	g.Ask(func(r *v1alpha1.VersionRemoval) { r.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"} })
	g.moult()
	g.eventually("False Paused Reconciling")
	g.Eventually(g.StoredVersions, soon).Should(Equal([]string{"v1"}))
	g.Eventually(g.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	g.queued()
	g.Expect(g.Verdict()).To(Equal("False Paused Reconciling"))
	g.patch(`{"metadata":{"annotations":null}}`)
	g.eventually("True SafeToRemove")
}

// The manager keeps each Event for minutes, and a tenant may pause a VersionRemoval and resume it as often as they like.
func TestAnAnswerThatChangesToAndFroRecordsFewEvents(t *testing.T) {
	t.Parallel()
	g := flipped(t, 0)
	g.Ask()
	g.moult()
	g.eventually("True SafeToRemove")
	for range 4 {
		g.patch(`{"metadata":{"annotations":{"` + v1alpha1.PausedAnnotation + `":"true"}}}`)
		g.eventually("False Paused Reconciling")
		g.patch(`{"metadata":{"annotations":null}}`)
		g.eventually("True SafeToRemove")
	}
	g.Ask(func(r *v1alpha1.VersionRemoval) { r.Name += "-later" }) // its Event comes after theirs
	recorded := func(name, reason string) (n int) {
		list := &eventsv1.EventList{}
		g.Expect(g.client.List(g.ctx, list, client.InNamespace(g.Name.Namespace))).To(Succeed())
		for _, e := range list.Items {
			if e.Regarding.Name == name && e.Reason == reason {
				n++
			}
		}
		return n
	}
	g.Eventually(func() int { return recorded(g.Name.Name+"-later", v1alpha1.ReasonSafeToRemove) }, soon).Should(Equal(1))
	for _, reason := range []string{v1alpha1.ReasonPaused, v1alpha1.ReasonSafeToRemove} {
		g.Expect(recorded(g.Name.Name, reason)).To(Equal(1), reason)
	}
}

func TestRequirementsHoldTheGateOrWarn(t *testing.T) {
	t.Parallel()
	g := flipped(t, 5)
	g.Ask(func(r *v1alpha1.VersionRemoval) {
		r.Spec.Require = []v1alpha1.Requirement{v1alpha1.Unserved, v1alpha1.Quiet}
		r.Spec.QuietPeriod = metav1.Duration{Duration: time.Hour}
	})
	g.moult()
	g.eventually("False StillServed Stalled")
	g.Expect(g.Message()).To(ContainSubstring("v1alpha1 is still served"))

	g.Update(func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Served = false })
	g.eventually("False StillWritten Reconciling")
	g.Eventually(g.blockers, soon).Should(ContainElement(And(
		HaveField("Kind", v1alpha1.ReasonStillWritten), HaveField("Message", ContainSubstring("field manager "+builders.FieldManager+" (Update) wrote 5 objects at v1alpha1")))))

	last := g.lastCreation()
	quiet := (time.Since(last) + 5*time.Second).Round(time.Second)
	g.patch(fmt.Sprintf(`{"spec":{"quietPeriod":%q}}`, quiet))
	g.eventually("True SafeToRemove")
	g.Expect(time.Now()).To(BeTemporally(">=", last.Add(quiet)), "the quiet period is waited out")
}

// lastCreation is when the youngest object was created, to the second.
func (g *gate) lastCreation() (last time.Time) {
	g.t.Helper()
	list, err := g.Objects("v1").List(g.ctx, metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	for i := range list.Items {
		if at := list.Items[i].GetCreationTimestamp().Time; at.After(last) {
			last = at
		}
	}
	return last
}

func TestADeletedVersionRemovalAsksNoMore(t *testing.T) {
	t.Parallel()
	g := begun(t, 5)
	g.eventually("True SafeToRemove")
	g.Expect(g.client.Delete(g.ctx, g.Removal())).To(Succeed())
	g.Eventually(func() error { return g.client.Get(g.ctx, g.Name, &v1alpha1.VersionRemoval{}) }, soon).ShouldNot(Succeed())
}

// What kubectl get vr prints.
func TestALineAPersonUnderstands(t *testing.T) {
	t.Parallel()
	g, crd := widgets(t)
	g.Ask()
	row := func(ready, reason, progress any) []any {
		return []any{"no-v1alpha1", g.GR.String(), `["v1alpha1"]`, ready, reason, progress, Not(BeEmpty())}
	}
	g.Expect(g.line()).To(Equal([]any{"no-v1alpha1", g.GR.String(), `["v1alpha1"]`, nil, nil, nil, nil}), "nobody has answered yet")
	g.install(crd, 20)
	g.settling("20/20", func() {
		g.Eventually(g.line, soon).Should(HaveExactElements(row("False", "IntermediateRevisionRequired", nil)...))
	})
	g.Expect(g.line()).To(HaveExactElements(row("False", "Settling", "20/20")...))
	g.moult()
	g.eventually("True SafeToRemove")
	g.Eventually(g.line, soon).Should(HaveExactElements(row("True", "SafeToRemove", "20/20")...))
}

// line is the VersionRemoval as a row of a table, without its age.
func (g *gate) line() ([]any, error) {
	cfg := rest.CopyConfig(cp.Config)
	cfg.GroupVersion, cfg.APIPath, cfg.NegotiatedSerializer = &v1alpha1.GroupVersion, "/apis", serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	raw, err := c.Get().Namespace(g.Name.Namespace).Resource("versionremovals").
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").Do(g.ctx).Raw()
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(raw, table); err != nil {
		return nil, err
	}
	cells := table.Rows[0].Cells
	return append(cells[:6:6], cells[7]), nil
}
