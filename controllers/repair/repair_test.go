package repair_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

func TestReferencesMoveWhenVersionsAreToGoAndAfterTheyHaveGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.owns("soil", w.at("v1alpha1", w.owner))
	w.owns("water", w.at("v1", w.owner))
	w.owns("light", w.at("v0", w.owner)) // a version that the CRD does not have
	w.runs(cp.Config, time.Second)

	w.Eventually(w.refersAt("light"), soon).Should(Equal([]string{"v1"}), "nobody has to ask for what has left")
	w.Expect(w.refersAt("soil")()).To(Equal([]string{"v1alpha1"}), "v1alpha1 may stay for ever")

	w.Ask()
	w.Eventually(w.refersAt("soil"), soon).Should(Equal([]string{"v1"}))
	w.Eventually(w.events, soon).Should(ContainElement(And(
		HavePrefix("Normal OwnerReferencesMoved: 1 owner reference moved to v1; for example that of configmaps default/"+w.name("soil")+" to Widget rose, from v1alpha1"),
		ContainSubstring("set by widget-operator"))))

	w.Eventually(w.Verdict, soon).Should(Equal("True SafeToRemove"))
	w.Expect(builders.RemoveVersion(t.Context(), cp.Config, w.GR.String(), "v1alpha1")).To(Succeed())
	w.owns("late", w.at("v1alpha1", w.owner)) // by a controller that has not heard
	w.Eventually(w.refersAt("late"), soon).Should(Equal([]string{"v1"}))
}

// The garbage collector does not find an owner at a version that is not served, so nothing waits for a VersionRemoval then.
func TestReferencesMoveWhenAVersionIsNotServedAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.owns("soil", w.at("v1alpha1", w.owner))
	w.owns("light", w.at("v0", w.owner))
	w.runs(cp.Config, time.Hour)
	w.Eventually(w.refersAt("light"), soon).Should(Equal([]string{"v1"}), "it has looked")
	w.Expect(w.refersAt("soil")()).To(Equal([]string{"v1alpha1"}))

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	w.Eventually(w.refersAt("soil"), soon).Should(Equal([]string{"v1"}))
}

func TestOthersObjectsAreWrittenToOnlyWithTheAnnotationTheLabelAndTheProof(t *testing.T) {
	t.Parallel()
	says := map[string]string{"no annotation": v1alpha1.ReasonMigrated, "paused": v1alpha1.ReasonPaused, "not migrated": v1alpha1.ReasonStorageVersionNotServed}
	for name, change := range map[string]func(*builders.CRDBuilder){
		"no annotation": func(b *builders.CRDBuilder) { b.Annotation(v1alpha1.RepairOwnersAnnotation, "false") },
		"no label":      func(b *builders.CRDBuilder) { b.Label(v1alpha1.MigrateLabel, "no") },
		"paused":        func(b *builders.CRDBuilder) { b.Annotation(v1alpha1.PausedAnnotation, "true") },
		"not migrated":  func(b *builders.CRDBuilder) { b.Unserved("v1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, other := newWorld(t), newWorld(t, change)
			other.owns("soil", other.at("v1alpha1", other.owner))
			other.owns("light", other.at("v0", other.owner))
			other.Ask()
			w.owns("soil", w.at("v1alpha1", w.owner))
			w.Ask()
			running.Repairing(t, cp.Config, running.Quick(w.GR.Group, other.GR.Group), removalOptions(), repairOptions(t, cp.Config, time.Second))
			other.Eventually(other.Reason, soon).Should(Equal(says[name]))
			w.Eventually(w.refersAt("soil"), soon).Should(Equal([]string{"v1"}))
			// What is reported of a look is reported when it has ended for all CRDs.
			w.Expect(w.refers("soil", "v1alpha1")).To(Succeed())
			w.Eventually(w.events, soon).Should(ContainElement(HavePrefix("Warning OwnerReferencesReturned")), "all objects were looked through meanwhile")
			w.Expect(other.refersAt("light")()).To(Equal([]string{"v0"}))
			w.Expect(other.refersAt("soil")()).To(Equal([]string{"v1alpha1"}))
		})
	}
}

// The migration and the gate need none of the rights of this.
func TestWithoutTheRightsTheCRDReportsThatAndAllElseGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.owns("soil", w.at("v1alpha1", w.owner))
	user := "repairs-" + w.namespace
	objects := running.Rule(w.GR.Group, "widgets", "get", "list", "patch")
	config := running.User(t, cp.Config, user, running.MoultRules(objects)...)
	w.runs(config, time.Second)
	w.Ask()
	w.Eventually(w.events, soon).Should(ContainElement(And(
		HavePrefix("Warning OwnerReferencesUnknown: not known whether owner references are left: "), ContainSubstring("it needs list on"))))
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	w.Eventually(w.Verdict, soon).Should(Equal("True SafeToRemove"))
	w.Expect(w.events()).NotTo(ContainElement(ContainSubstring("OwnerReferencesMoved")))

	list := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"list"}}
	running.Allow(t, cp.Config, user, running.MoultRules(objects, list)...)
	w.Eventually(w.events, soon).Should(ContainElement(
		HavePrefix("Warning OwnerReferencesLeft: 1 owner reference is left, and tried again: 1 may not be written (grant get on configmaps): configmaps default/" + w.name("soil"))))

	running.Allow(t, cp.Config, user, running.MoultRules(objects, list, running.Rule("", "configmaps", "get", "patch"))...)
	w.Eventually(w.refersAt("soil"), soon).Should(Equal([]string{"v1"}))
	w.Eventually(w.events, soon).Should(ContainElement(HavePrefix("Normal OwnerReferencesMoved")))
}

func TestWhatRefusesAWriteIsNamedAndTheRestMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.owns("soil", w.at("v1alpha1", w.owner))
	w.owns("stone", w.at("v1alpha1", w.owner))
	gone := w.at("v1alpha1", w.owner)
	gone.UID = "00000000-0000-0000-0000-000000000000" // it was made again with another uid
	w.owns("leaves", gone)
	w.refuses("stone")
	w.runs(cp.Config, time.Second)
	w.Ask()
	w.Eventually(w.refersAt("soil"), soon).Should(Equal([]string{"v1"}))
	w.Eventually(w.events, soon).Should(ContainElement(And(
		HavePrefix("Warning OwnerReferencesLeft: 2 owner references are left, and tried again"),
		ContainSubstring("1 were refused (fix the object, or what refuses it): configmaps default/"+w.name("stone")),
		ContainSubstring("set in stone"),
		ContainSubstring("1 have an owner that does not exist"), ContainSubstring("configmaps default/"+w.name("leaves")))))
	w.Expect(w.refersAt("stone")()).To(Equal([]string{"v1alpha1"}))
	w.Expect(w.refersAt("leaves")()).To(Equal([]string{"v1alpha1"}))
}

// refuses installs a policy that denies writes to a ConfigMap, and returns when it is in force.
func (w *world) refuses(name string) {
	w.t.Helper()
	policies := client().AdmissionregistrationV1()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.name(name)},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				ResourceNames: []string{w.name(name)},
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{"UPDATE"},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "set in stone"}},
		},
	}
	_, err := policies.ValidatingAdmissionPolicies().Create(w.t.Context(), policy, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = policies.ValidatingAdmissionPolicyBindings().Create(w.t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.name(name)},
		Spec:       admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{"Deny"}},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(func() error { return w.refers(name, "v1alpha1") }, soon).Should(MatchError(ContainSubstring("set in stone")))
}

func TestANamespaceThatIsTerminatingAndAnAPIThatDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	widgets := dynamic.NewForConfigOrDie(cp.Config).Resource(w.GR.WithVersion("v1")).Namespace(w.namespace)
	tulip, err := widgets.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.GR.Group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": "tulip"}}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	configMaps := client().CoreV1().ConfigMaps(w.namespace)
	_, err = configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "petals", OwnerReferences: []metav1.OwnerReference{w.at("v0", tulip)}}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(client().CoreV1().Namespaces().Delete(t.Context(), w.namespace, metav1.DeleteOptions{})).To(Succeed())

	group := "away." + w.GR.Group
	services := dynamic.NewForConfigOrDie(cp.Config).Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	_, err = services.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1." + group},
		"spec": map[string]any{"group": group, "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(10), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": "default", "name": "away"}},
	}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = services.Delete(context.Background(), "v1."+group, metav1.DeleteOptions{}) })
	w.Eventually(func() error {
		_, err := client().Discovery().ServerPreferredResources()
		return err
	}, soon).Should(MatchError(ContainSubstring(group)))

	running.Repairing(t, cp.Config, running.Quick(w.GR.Group), removalOptions(), repairOptions(t, cp.Config, time.Hour))
	w.Eventually(w.events, soon).Should(ContainElement(
		HavePrefix("Warning OwnerReferencesUnknown: not known whether owner references are left: the resources of " + group + "/v1 are not known")))
	w.Eventually(func() (string, error) {
		c, err := configMaps.Get(t.Context(), "petals", metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return c.OwnerReferences[0].APIVersion, nil
	}, soon).Should(Equal(w.GR.Group + "/v1"))
}

func TestWhoWritesTheOldVersionAgainIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.owns("soil")
	w.Expect(w.refers("soil", "v1alpha1")).To(Succeed())
	w.runs(cp.Config, time.Second)
	w.Ask()
	w.Eventually(w.refersAt("soil"), soon).Should(Equal([]string{"v1"}))
	w.Expect(w.refers("soil", "v1alpha1")).To(Succeed(), "long after the repair has ended")
	w.Eventually(w.events, soon).Should(ContainElement(And(
		HavePrefix("Warning OwnerReferencesReturned: 1 owner reference had been moved before, and somebody wrote another version again: the field manager is gardener"),
		ContainSubstring("has to write "+w.GR.Group+"/v1"))))
	w.Eventually(w.refersAt("soil"), soon).Should(Equal([]string{"v1"}))
}

// Who takes the annotation off means now, not when thousands of objects are done.
func TestARepairStopsWhenItIsNotWantedAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 60
	for i := range n {
		w.owns(fmt.Sprint("soil-", i), w.at("v1alpha1", w.owner))
	}
	slow := running.Quick(w.GR.Group)
	slow.MaxRate = 10
	w.Ask()
	other := newWorld(t)
	slow.Groups = append(slow.Groups, other.GR.Group)
	running.Repairing(t, cp.Config, slow, removalOptions(), repairOptions(t, cp.Config, time.Second))
	moved := func() (n int) {
		list, err := client().CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		w.Expect(err).NotTo(HaveOccurred())
		for i := range list.Items {
			for _, ref := range list.Items[i].OwnerReferences {
				if ref.APIVersion == w.GR.Group+"/v1" {
					n++
				}
			}
		}
		return n
	}
	w.Eventually(moved, soon).Should(BeNumerically(">", 0))
	w.Update(optOut)
	w.Eventually(w.events, soon).Should(ContainElement(HavePrefix("Normal OwnerReferencesMoved")), "it has ended, and tells what it did")
	some := moved()
	w.Expect(some).To(BeNumerically("<", n))
	other.owns("soil", other.at("v1alpha1", other.owner))
	other.Ask()
	other.Eventually(other.events, soon).Should(ContainElement(HavePrefix("Normal OwnerReferencesMoved")), "a whole look was made for another CRD")
	w.Expect(moved()).To(Equal(some))

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{v1alpha1.RepairOwnersAnnotation: "true"}
	})
	w.Eventually(moved, soon).Should(Equal(n), "it goes on with what is left")
}
