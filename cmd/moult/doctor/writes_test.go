package doctor

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/doctor"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

func TestTheDoctorKnowsOfWritesToTheStatusThatAreRefused(t *testing.T) {
	group, account := builders.UniqueGroup(t), "system:serviceaccount:platform:moult"
	w := &world{suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").OptedIn())}
	w.Label = v1alpha1.MigrateLabel
	w.Denies()
	reader := w.KubeconfigAs(running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list"), running.Rule("", "events", "list"),
		running.Rule("admissionregistration.k8s.io", "validatingadmissionpolicies", "list"),
		running.Rule("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "list"))
	found := func(args ...string) []finding.Finding {
		r, _ := w.check(doctor.StatusWrites, append(args, "--kubeconfig", reader)...)
		return r.Findings
	}
	w.Expect(found()).To(BeEmpty())
	w.Expect(found("--controller", account)).To(ConsistOf(And(HaveField("Severity", finding.Error), HaveField("Object", w.CRD.Name),
		HaveField("Why", "ValidatingAdmissionPolicy moult-status lets "+inspect.ControllerUser+" write Moult's part of the status, and the controller is "+account))), "before it is started")
	w.Expect(found("--controller", inspect.ControllerUser)).To(BeEmpty())

	user := running.User(t, cp.Config, account, running.MigrationRules(running.Rule(group, "*", "get", "list", "patch"))...)
	running.Migration(t, user, running.Quick(group))
	w.Eventually(func() []finding.Finding { return found() }, running.Soon, "200ms").Should(ConsistOf(And(HaveField("Severity", finding.Error),
		HaveField("Why", And(ContainSubstring("last write to the CRD's status was refused at"), ContainSubstring(account+" may not write the condition StorageMigrated"))))),
		"whoever the controller is, and with rights to read only")

	w.Merges("kubectl-annotate", `{"metadata":{"annotations":{"moult.dev/allow-condition":"StorageMigrated"}}}`)
	w.Eventually(func() []finding.Finding { return found() }, running.Soon, "200ms").Should(BeEmpty(), "a write has gone through since")
}

func TestTheDoctorAsksRBACAboutTheController(t *testing.T) {
	w := healthy(t)
	r, code := w.check(doctor.StatusWrites, "--controller", "alice")
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(r.Findings).To(ConsistOf(And(HaveField("Severity", finding.Error), HaveField("Why", "alice may not patch the status of the CRD"))))

	rule := running.Rule("apiextensions.k8s.io", "customresourcedefinitions/status", "patch")
	running.User(t, cp.Config, "bob", rule)
	r, _ = w.check(doctor.StatusWrites, "--controller", "bob")
	w.Expect(r.Evidence).To(Equal("no refused write has been recorded, and RBAC lets bob write, and no policy of Moult's keeps it out"))
	rule.ResourceNames = []string{w.CRD.Name}
	running.Allow(t, cp.Config, "bob", rule)
	w.Eventually(func() bool {
		return w.mayWriteAll("bob")
	}, running.Soon).Should(BeFalse(), "the API server takes a moment to see a changed role")
	r, _ = w.check(doctor.StatusWrites, "--controller", "bob")
	w.Expect(r.Findings).To(BeEmpty(), "this CRD is enough")

	reader := w.KubeconfigAs(running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list"))
	r, code = w.check(doctor.StatusWrites, "--controller", "bob", "--kubeconfig", reader)
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(r.Outcome).To(Equal(doctor.NotRun))
	w.Expect(r.Evidence).To(ContainSubstring("what bob may do may not be read; it needs create on subjectaccessreviews in authorization.k8s.io"))
}

// mayWriteAll asks the API server whether a user may write the status of every CRD.
func (w *world) mayWriteAll(user string) bool {
	review, err := kubernetes.NewForConfigOrDie(cp.Config).AuthorizationV1().SubjectAccessReviews().Create(w.T.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Subresource: "status", Verb: "patch",
		}},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return review.Status.Allowed
}

func TestTheDoctorTakesMoultsServiceAccountForTheController(t *testing.T) {
	w := healthy(t)
	c := kubernetes.NewForConfigOrDie(cp.Config).CoreV1()
	_, err := c.Namespaces().Create(w.T.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "moult-system"}}, metav1.CreateOptions{})
	w.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	_, err = c.ServiceAccounts("moult-system").Create(w.T.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "moult-controller"}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		w.Expect(c.ServiceAccounts("moult-system").Delete(context.Background(), "moult-controller", metav1.DeleteOptions{})).To(Succeed())
	})
	r, code := w.check(doctor.StatusWrites)
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(r.Findings).To(ConsistOf(HaveField("Why", inspect.ControllerUser+" may not patch the status of the CRD")))
	running.User(t, cp.Config, inspect.ControllerUser, running.Rule("apiextensions.k8s.io", "customresourcedefinitions/status", "patch"))
	r, _ = w.check(doctor.StatusWrites)
	w.Expect(r.Findings).To(BeEmpty())
	w.Expect(r.NotSeen).To(BeEmpty())
}
