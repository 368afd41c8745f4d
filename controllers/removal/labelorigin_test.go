package removal_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// The gate opens all the same: what is proved does not become untrue when the label goes. But the one who removes a
// version is informed.
func TestALabelThatIsNotInGitIsAWarningOfTheGate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
	w := running.InstallFlipped(t, cp, crd, 5)
	_, err := w.CRDs().Patch(t.Context(), w.GR.String(), types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"`+v1alpha1.MigrateLabel+`":"true"}}}`), metav1.PatchOptions{FieldManager: "kubectl-label"})
	g.Expect(err).NotTo(HaveOccurred())
	gate := running.GateFor(w)
	gate.Ask()
	running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{Namespaces: []string{gate.Name.Namespace}})

	g.Eventually(gate.Verdict, soon).Should(Equal("True SafeToRemove"))
	g.Expect(gate.Removal().Status.Warnings).To(ContainElement(And(
		HaveField("Kind", v1alpha1.EventOptInNotInGit),
		HaveField("Message", ContainSubstring(`only on the live object: field manager "kubectl-label" (Update) set it`)),
		HaveField("Action", ContainSubstring("manifest in Git")),
	)))
}
