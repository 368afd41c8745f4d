package collector

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/running"
)

// statusPolicy guards who may trim storedVersions.
const statusPolicy = "moult-status"

// guardStatus installs the policy as people do, until the test ends.
func (w *world) guardStatus() {
	w.t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../policies/admission/deny")
	w.Expect(err).NotTo(HaveOccurred())
	c := running.Client(w.t, cp.Config)
	for _, resource := range built.Resources() {
		if resource.GetName() != statusPolicy {
			continue
		}
		content, err := resource.Map()
		w.Expect(err).NotTo(HaveOccurred())
		object := &unstructured.Unstructured{Object: content}
		w.Expect(c.Create(w.t.Context(), object)).To(Succeed())
		w.t.Cleanup(func() { _ = c.Delete(context.Background(), object) })
	}
	w.Eventually(func() error {
		_, err := w.CRDs().Patch(w.t.Context(), w.GR.String(), types.MergePatchType, []byte(`{"status": {"storedVersions": ["v1"]}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		return err
	}, soon).Should(MatchError(ContainSubstring("may not take v1alpha1 out")))
}

// isMigrating reports whether the in-tree migrator's condition is True.
func (w *world) isMigrating() bool {
	return apihelpers.IsCRDConditionTrue(w.Live(), v1alpha1.StorageMigrating)
}

// The policy refuses the trim of an in-tree migration that has failed. The migrator repeats it with growing pauses, and the CRD's
// condition StorageMigrating stays True. Moult does not wait for it, and once Moult has trimmed, the repeated write passes.
func TestARefusedTrimOfTheInTreeMigratorKeepsNoOtherWaiting(t *testing.T) {
	w := refusing(t)
	w.guardStatus()
	config := rest.CopyConfig(cp.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:moult-system:moult-controller", Groups: []string{"system:masters"}}
	manager := collectsWith(t, kubeconfigAs(t, "system:kube-controller-manager"), "storage-version-migrator-controller")
	w.Ask()
	running.Moult(t, config, running.Quick(w.GR.Group), removal.Options{})
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost))
	w.asksInTree()
	w.Eventually(w.inTreeEnd(), 2*soon, "1s").Should(Equal("Failed"))

	w.Eventually(func() string { return w.Condition().Message }, soon).Should(And(ContainSubstring("Failed"), ContainSubstring("so Moult does not wait for it")))
	const refusal = "may not take v1alpha1 out"
	before := manager.count(refusal)
	w.Consistently(w.StoredVersions, 30*time.Second, time.Second).Should(Equal([]string{"v1alpha1", "v1"}))
	w.Expect(w.isMigrating()).To(BeTrue())
	w.Expect(manager.count(refusal)).To(And(BeNumerically(">", 0), BeNumerically("<", before+10)), "it does not loop hotly")
	w.Expect(w.Verdict()).NotTo(HavePrefix("True"))

	w.allow()
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{v1alpha1.AllowFieldLossAnnotation: "spec.note"}
	})
	w.Eventually(w.Verdict, soon).Should(Equal("True SafeToRemove"))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 4}))
	w.Eventually(w.isMigrating, 3*soon, "1s").Should(BeFalse(), "the migrator's last write passes now")
}
