package admission

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// life is one CRD with Moult beside it, under the rules.
type life struct {
	*WithT
	*running.Gate
	t *testing.T
}

func TestACRDsLifeUnderTheRules(t *testing.T) {
	t.Parallel()
	lives := map[string]string{
		"policies that were there before the CRD":   "nothing",
		"policies that come while Moult is at work": "the flip",
		"policies that come when the gate is open":  "the gate",
	}
	groups, rules := map[string]string{}, running.MoultRules()
	for name := range lives {
		groups[name] = builders.UniqueGroup(t)
		rules = append(rules, running.Rule(groups[name], "*", "get", "list", "patch"))
	}
	user := running.User(t, cp.Config, moult, rules...)
	for name, after := range lives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gr := schema.GroupResource{Group: groups[name], Resource: "widgets"}
			l := &life{NewWithT(t), running.GateFor(running.WitnessOf(t, cp, gr)), t}
			policies := func(now string) {
				if now == after {
					installForGroup(t, denying, gr.Group)
				}
			}
			policies("nothing")
			l.firstInstall(user)
			policies("the flip")
			l.waitForGate()
			policies("the gate")
			l.removeAndRollBack()
			l.surviveForce()
			l.optOutAndIn()
			l.deleteAndRestore()
		})
	}
}

// firstInstall begins where teams do, with Moult under its own name and with no more rights than it needs.
func (l *life) firstInstall(user *rest.Config) {
	l.t.Helper()
	crd := builders.CRD(l.GR.Group, l.GR.Resource).Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
	running.Install(l.t, cp, crd)
	l.Create(20)
	running.Moult(l.t, user, running.Quick(l.GR.Group), removal.Options{Namespaces: []string{l.Name.Namespace}})
	l.Flip("v1")
}

// waitForGate asks whether v1alpha1 may go and waits for a yes.
func (l *life) waitForGate() {
	l.t.Helper()
	l.Ask()
	l.Eventually(l.Verdict, running.Soon).Should(Equal("True SafeToRemove"), l.Message)
	l.Expect(l.Stored()).To(Equal(map[string]int{"v1": 20}))
}

// removeAndRollBack: once the gate is open the removal goes through at the first try, and the way back goes step by step.
func (l *life) removeAndRollBack() {
	l.t.Helper()
	before := l.Live()
	l.Expect(l.update(remove("v1alpha1"))).To(Succeed())
	restored := func(c *crd) { c.Spec.Versions = before.DeepCopy().Spec.Versions }
	l.Expect(l.update(all(restored, storeAt("v1alpha1")))).To(MatchError(ContainSubstring("the storage version may not move from v1 to v1alpha1")))
	l.Expect(l.update(restored)).To(Succeed())
	l.Expect(l.update(storeAt("v1alpha1"))).To(Succeed())
	l.waitMigrated("v1alpha1")
	l.Expect(l.update(storeAt("v1"))).To(Succeed())
	l.waitMigrated("v1")
}

// surviveForce: a tool that deletes what it cannot change costs no object.
func (l *life) surviveForce() {
	l.t.Helper()
	err := l.CRDs().Delete(l.t.Context(), l.GR.String(), metav1.DeleteOptions{})
	l.Expect(err).To(MatchError(apierrors.IsForbidden, "IsForbidden"))
	l.Expect(l.Live().DeletionTimestamp).To(BeNil())
	l.Expect(l.Stored()).To(Equal(map[string]int{"v1": 20}))
}

// optOutAndIn: Moult can take its conditions back from a CRD that is let go.
func (l *life) optOutAndIn() {
	l.t.Helper()
	l.Expect(l.update(noLabels)).To(MatchError(ContainSubstring("drops the label")))
	l.Expect(l.update(all(noLabels, annotate("moult.dev/allow-opt-out", l.GR.String())))).To(Succeed())
	l.Eventually(l.Reason, running.Soon).Should(BeEmpty())
	l.Expect(l.update(noAnnotations)).To(Succeed())
	l.Expect(l.update(label("true"))).To(Succeed())
	l.waitMigrated("v1")
}

// deleteAndRestore: a backup comes back with the status it had, as Velero can be told to, and Moult proves it anew.
func (l *life) deleteAndRestore() {
	l.t.Helper()
	backup := l.Live()
	l.Expect(l.update(annotate("moult.dev/allow-deletion", l.GR.String()))).To(Succeed())
	l.Expect(l.CRDs().Delete(l.t.Context(), l.GR.String(), metav1.DeleteOptions{})).To(Succeed())
	l.Eventually(func() error {
		_, err := l.CRDs().Get(l.t.Context(), l.GR.String(), metav1.GetOptions{})
		return err
	}, running.Soon).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))

	backup.ResourceVersion, backup.UID = "", ""
	_, err := l.CRDs().Create(l.t.Context(), backup, metav1.CreateOptions{})
	l.Expect(err).NotTo(HaveOccurred())
	body, err := json.Marshal(map[string]any{"status": map[string]any{"storedVersions": []string{"v1alpha1", "v1"}}})
	l.Expect(err).NotTo(HaveOccurred())
	_, err = l.CRDs().Patch(l.t.Context(), l.GR.String(), types.MergePatchType, body, metav1.PatchOptions{}, "status")
	l.Expect(err).NotTo(HaveOccurred())
	l.waitMigrated("v1")
}

func (l *life) update(change change) error {
	return builders.Update(l.t.Context(), cp.Config, l.GR.String(), change)
}

func (l *life) waitMigrated(version string) {
	l.t.Helper()
	l.Eventually(l.StoredVersions, running.Soon).Should(Equal([]string{version}))
	l.Eventually(l.Reason, running.Soon).Should(Equal(v1alpha1.ReasonMigrated))
}
