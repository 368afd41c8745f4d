package removal_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// approved is what the CRD says may be removed.
func approved(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, c := range crd.Status.Conditions {
		if c.Type == v1alpha1.VersionsRemovable {
			return string(c.Status) + " " + c.Reason + " " + c.Message
		}
	}
	return ""
}

func TestTheCRDSaysWhatIsSafeToRemoveBeforeTheGateOpens(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1beta1", "v1").Storage("v1alpha1").OptedIn().Build()
	gate := running.GateFor(running.InstallFlipped(t, cp, crd, 10))
	running.Moult(t, cp.Config, running.Quick(gate.GR.Group), removal.Options{Namespaces: []string{gate.Name.Namespace}})
	says := func() string { return approved(gate.Live()) }
	safe := func(versions string) string {
		return fmt.Sprintf("True SafeToRemove generation %d: %s", gate.Live().Generation, versions)
	}
	g.Eventually(gate.Reason, running.Soon, "50ms").Should(Equal(v1alpha1.ReasonMigrated))
	g.Expect(says()).To(BeEmpty(), "clean, and nobody has asked")

	gate.Ask()
	g.Eventually(gate.Verdict, running.Soon, "10ms").Should(Equal("True SafeToRemove"))
	g.Expect(says()).To(Equal(safe("v1alpha1")), "the very moment the gate is open")

	both := client.ObjectKey{Namespace: gate.Name.Namespace, Name: "another"}
	gate.Ask(func(r *v1alpha1.VersionRemoval) { r.Name, r.Spec.Versions = both.Name, []string{"v1beta1"} })
	g.Eventually(says, running.Soon, "50ms").Should(Equal(safe("v1alpha1, v1beta1")), "what all of them have found")

	gate.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[2].Deprecated = true })
	g.Eventually(says, running.Soon, "50ms").Should(Equal(safe("v1alpha1, v1beta1")), "for each generation anew")

	g.Expect(running.Client(t, cp.Config).Delete(t.Context(), gate.Removal())).To(Succeed())
	g.Eventually(says, running.Soon, "50ms").Should(Equal(safe("v1beta1")), "without the one that is withdrawn")

	g.Expect(builders.RemoveVersion(t.Context(), cp.Config, gate.GR.String(), "v1beta1")).To(Succeed())
	g.Eventually(says, running.Soon, "50ms").Should(BeEmpty(), "what is removed needs no leave")
	g.Expect(gate.Condition().Type).To(BeEquivalentTo(v1alpha1.StorageMigrated), "the migration's condition is not disturbed")
}

// A VersionRemoval that is deleted while no controller runs leaves its approval behind, and an admission policy believes it.
func TestAnApprovalThatNoVersionRemovalBacksIsTakenBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
	gate := running.GateFor(running.InstallFlipped(t, cp, crd, 3))
	run := func() (stop func()) {
		return running.Moult(t, cp.Config, running.Quick(gate.GR.Group), removal.Options{Namespaces: []string{gate.Name.Namespace}})
	}
	says := func() string { return approved(gate.Live()) }
	stop := run()
	gate.Ask()
	g.Eventually(gate.Verdict, running.Soon, "10ms").Should(Equal("True SafeToRemove"))
	stop()
	g.Expect(running.Client(t, cp.Config).Delete(t.Context(), gate.Removal())).To(Succeed())
	g.Expect(says()).To(HavePrefix("True"))
	run()
	g.Eventually(says, running.Soon, "50ms").Should(BeEmpty())

	live := gate.Live()
	live.ManagedFields = nil
	live.Status.Conditions = append(live.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: v1alpha1.VersionsRemovable, Status: apiextensionsv1.ConditionTrue, Reason: v1alpha1.ReasonSafeToRemove,
		Message: v1alpha1.Message(live.Generation, "v1alpha1"),
	})
	g.Expect(running.Client(t, cp.Config).Status().Update(t.Context(), live, client.FieldOwner("kubectl-replace"))).To(Succeed())
	g.Eventually(says, running.Soon, "50ms").Should(HavePrefix("False NotFoundSafe"), "what somebody else has written does not go, so it is contradicted")
}
