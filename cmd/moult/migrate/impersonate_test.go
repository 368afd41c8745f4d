package migrate

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

func TestMigrateActsAsMoultWhereAPolicyLetsNoOtherUserWrite(t *testing.T) {
	group := builders.UniqueGroup(t)
	w := suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn())
	w.Label = v1alpha1.MigrateLabel
	w.Create(20)
	w.Flip("v1")
	running.User(t, cp.Config, inspect.ControllerUser, running.MigrationRules(running.Rule(group, "*", "get", "list", "patch"))...)
	w.Denies()

	got := w.Run("migrate", w.CRD.Name, "--settle", "1s")
	w.Expect(got.Code).To(Equal(cli.ExitError))
	w.Expect(got.ErrOut).To(And(ContainSubstring("may not write the condition StorageMigrated"),
		HaveSuffix("run the same command with --as system:serviceaccount:moult-system:moult-controller, or with another user if the first variable of the policy names one\n"),
		Not(ContainSubstring("migrating needs"))), "a policy refused it, and no rule is missing")

	w.Merges("kubectl-annotate", `{"metadata":{"annotations":{"moult.dev/allow-condition":"StorageMigrated"}}}`)
	got = w.Run("migrate", w.CRD.Name, "--settle", "1s")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone))
	w.Expect(got.ErrOut).To(And(ContainSubstring("may not take v1alpha1 out of storedVersions"), ContainSubstring("--as "+inspect.ControllerUser)), "the trim by an admin")
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))

	w.Merges("kubectl-annotate", `{"metadata":{"annotations":{"moult.dev/allow-condition":null}}}`)
	person, account := serviceAccount(w)
	got = w.Run("migrate", w.CRD.Name, "--settle", "1s", "--as", inspect.ControllerUser, "--kubeconfig", person)
	w.Expect(got.Code).To(Equal(cli.ExitError))
	w.Expect(got.ErrOut).To(And(MatchRegexp(`User "`+account+`" cannot impersonate`), ContainSubstring("needs the verb impersonate"),
		Not(ContainSubstring("reading CRDs needs"))))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))

	mayImpersonateMoult(w, account)
	w.Eventually(func() string {
		got = w.Run("migrate", w.CRD.Name, "--settle", "1s", "--as", inspect.ControllerUser, "--kubeconfig", person)
		return got.ErrOut
	}, running.Soon, "200ms").ShouldNot(ContainSubstring("cannot impersonate"), "the API server takes a moment to see a new role")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 20}))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1"}))
}

// serviceAccount is a kubeconfig with a token and without a right: impersonating a user, as the others do here, would leave
// the right to impersonate with the admin behind it.
func serviceAccount(w *clitest.World) (kubeconfig, user string) {
	w.T.Helper()
	accounts := kubernetes.NewForConfigOrDie(cp.Config).CoreV1().ServiceAccounts(w.Namespace())
	account, err := accounts.Create(w.T.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "person"}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	token, err := accounts.CreateToken(w.T.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	content, err := cp.KubeConfig()
	w.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.Load(content)
	w.Expect(err).NotTo(HaveOccurred())
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: token.Status.Token}
	}
	content, err = clientcmd.Write(*config)
	w.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(w.T.TempDir(), "kubeconfig")
	w.Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
	return path, "system:serviceaccount:" + account.Namespace + ":" + account.Name
}

// mayImpersonateMoult grants what docs/policies.md says.
func mayImpersonateMoult(w *clitest.World, user string) {
	w.T.Helper()
	c := kubernetes.NewForConfigOrDie(cp.Config)
	_, err := c.CoreV1().Namespaces().Create(w.T.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "moult-system"}}, metav1.CreateOptions{})
	w.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	meta := metav1.ObjectMeta{Namespace: "moult-system", Name: "act-as-moult"}
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"moult-controller"}, Verbs: []string{"impersonate"}}
	_, err = c.RbacV1().Roles(meta.Namespace).Create(w.T.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.T.Cleanup(func() {
		_ = c.RbacV1().Roles(meta.Namespace).Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
		_ = c.RbacV1().RoleBindings(meta.Namespace).Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
	})
	_, err = c.RbacV1().RoleBindings(meta.Namespace).Create(w.T.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}
