package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// onlyAt is a policy that denies every new object, with a rule for one version, and its binding.
func onlyAt(name, group, version string) (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{"*"}},
			}}}},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "no more of them"}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	return policy, binding
}

// A policy with a rule for one version is matched by requests at all versions that the CRD has, and by none when that
// one is removed.
func TestAPolicyStopsSilentlyWhenItsVersionGoes(t *testing.T) {
	g := NewWithT(t)
	c := running.Client(t, cp.Config)
	group := builders.UniqueGroup(t)
	w := running.Install(t, cp, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1").Build())
	policy, binding := onlyAt("today-"+group, group, "v1alpha1")
	for _, object := range []client.Object{policy, binding} {
		g.Expect(c.Create(t.Context(), object)).To(Succeed())
		t.Cleanup(func() { g.Expect(client.IgnoreNotFound(c.Delete(context.Background(), object))).To(Succeed()) })
	}
	create := func() error {
		_, err := w.Objects("v1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1", "kind": "Widget", "metadata": map[string]any{"generateName": "rose-"},
		}}, metav1.CreateOptions{})
		return err
	}
	g.Eventually(create, soon).Should(MatchError(ContainSubstring("no more of them")))
	g.Expect(builders.RemoveVersion(t.Context(), cp.Config, w.GR.String(), "v1alpha1")).To(Succeed())
	g.Eventually(create, soon).Should(Succeed(), "what the policy denied is let through")
}

// The gate stays shut while anything names the version, or while that is not known, and opens when nothing does. The
// controller has the rights that the Component grants, and no others.
func TestTheGateWaitsForWhatElseNamesTheVersion(t *testing.T) {
	g := NewWithT(t)
	ctx, c := t.Context(), running.Client(t, cp.Config)
	const user = "moult-that-looks"
	rules := slices.Concat(documentedRules(g), component(g))
	running.User(t, cp.Config, user, rules...)
	running.InstallGate(t, cp.Config)
	widgets := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
	w := running.InstallFlipped(t, cp, widgets, 3)
	unread := running.Install(t, cp, builders.CRD(builders.UniqueGroup(t), "gadgets").Versions("v1").Build())
	t.Cleanup(func() { remove(g, c, widgets.Name, "versionremovals.moult.dev", unread.GR.String()) })

	policy, binding := onlyAt("moult-test-policy", "example.com", "v1alpha1")
	owner := w.Live()
	dependent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "dependent", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "example.com/v1alpha1", Kind: "Widget", Name: "rose", UID: owner.UID},
	}}}
	for _, object := range []client.Object{policy, binding, dependent} {
		g.Expect(c.Create(ctx, object)).To(Succeed())
		t.Cleanup(func() { g.Expect(client.IgnoreNotFound(c.Delete(context.Background(), object))).To(Succeed()) })
	}
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	removal := example(g)
	g.Expect(c.Create(ctx, removal)).To(Succeed())
	look := func() *v1alpha1.VersionRemoval {
		_ = c.Get(ctx, client.ObjectKeyFromObject(removal), removal)
		return removal
	}
	verdict := func() string { return running.VerdictOf(look()) }
	says := func() string { return fmt.Sprint(look().Status.Conditions, look().Status.Blockers) }

	start := startController(t, user, "--references", "--survey-interval", "2s")
	g.Eventually(verdict, soon).Should(Equal("False StillReferenced Stalled"), says)
	g.Eventually(func() []v1alpha1.Blocker { return look().Status.Blockers }, soon).Should(ConsistOf(
		And(HaveField("Kind", "admission-policies"), HaveField("Message", And(ContainSubstring("stops silently"), ContainSubstring("v1alpha1"))), HaveField("Action", Not(BeEmpty()))),
		And(HaveField("Kind", "owner-references"), HaveField("Message", ContainSubstring("configmaps default/dependent in metadata.ownerReferences[0]"))),
	), "the policy lies in no namespace, so it is counted only")

	// The owner reference goes, and the policy moves to the version that stays.
	g.Expect(c.Delete(ctx, dependent)).To(Succeed())
	policy.Spec.MatchConstraints.ResourceRules[0].APIVersions = []string{"v1"}
	g.Expect(c.Update(ctx, policy)).To(Succeed())
	g.Eventually(verdict, soon).Should(Equal("False ReferencesUnknown Reconciling"), says)
	g.Expect(look().Status.Blockers).To(ConsistOf(HaveField("Message", ContainSubstring(unread.GR.String()))), "nobody granted that one, and all others are")

	running.Allow(t, cp.Config, user, append(rules, running.Rule(unread.GR.Group, unread.GR.Resource, "get", "list"))...)
	g.Eventually(verdict, soon).Should(Equal("True SafeToRemove"), says)
	g.Expect(look().Status.Proof.ReferencesAt).NotTo(BeNil())

	// A restart does not close it, and what comes to name the version does.
	start()
	startController(t, user, "--references", "--survey-interval", "2s")
	dependent.ResourceVersion, dependent.UID = "", ""
	g.Expect(c.Create(ctx, dependent)).To(Succeed())
	g.Eventually(verdict, soon).Should(Equal("False StillReferenced Stalled"), says)

	// With the owner reference gone once more, it opens again.
	g.Expect(c.Delete(ctx, dependent)).To(Succeed())
	g.Eventually(verdict, soon).Should(Equal("True SafeToRemove"), says)
}

// example is the VersionRemoval of examples/references, in a namespace that is there.
func example(g *WithT) *v1alpha1.VersionRemoval {
	content, err := os.ReadFile("../../examples/references/version-removal.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	removal := &v1alpha1.VersionRemoval{}
	g.Expect(yaml.UnmarshalStrict(content, removal)).To(Succeed())
	removal.Namespace = "default"
	return removal
}

// component are the rules of the Component's role.
func component(g *WithT) []rbacv1.PolicyRule {
	content, err := os.ReadFile("../../clusters/components/references/role.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{}
	g.Expect(yaml.UnmarshalStrict(content, role)).To(Succeed())
	return role.Rules
}

// startController runs the controller as a user until the test ends or stop is called.
func startController(t *testing.T, user string, flags ...string) (stop func()) {
	t.Helper()
	g := NewWithT(t)
	controller := exec.Command(os.Args[0], slices.Concat([]string{"--settle", "1s", "--metrics-addr", "0", "--health-addr", "0", "--log-level", "error"}, flags)...)
	controller.Env = append(os.Environ(), asController+"=1", "KUBECONFIG="+kubeconfigAs(t, user))
	controller.Stdout, controller.Stderr = os.Stdout, os.Stderr
	g.Expect(controller.Start()).To(Succeed())
	t.Cleanup(func() { _ = controller.Process.Kill() })
	return func() {
		g.Expect(controller.Process.Signal(syscall.SIGTERM)).To(Succeed())
		g.Expect(controller.Wait()).To(Succeed())
	}
}

func TestFlagsOfTheLook(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing is looked for":    {[]string{"--references-except", "secrets"}, "are about the look that --references turns on"},
		"no resource":              {[]string{"--references", "--references-except", ".example.com"}, `--references-except names ".example.com"; write it like secrets or widgets.example.com`},
		"a folder that is not one": {[]string{"--references", "--places", "nowhere"}, "--places nowhere: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.args)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
	f, err := parse(strings.Fields("--references --references-except secrets,widgets.example.com"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(f.references.all).NotTo(BeEmpty())
}
