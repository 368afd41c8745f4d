package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

func TestMigrateActsAsMoultWhereAPolicyLetsNobodyElseWrite(t *testing.T) {
	group := builders.UniqueGroup(t)
	w := newWorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn())
	w.label = v1alpha1.MigrateLabel
	w.Create(20)
	w.Flip("v1")
	running.User(t, cp.Config, controllerUser, running.MigrationRules(running.Rule(group, "*", "get", "list", "patch"))...)
	w.denies()

	got := w.moult("migrate", w.crd.Name, "--settle", "1s")
	w.Expect(got.code).To(Equal(exitError))
	w.Expect(got.errOut).To(And(ContainSubstring("may not write the condition StorageMigrated"),
		HaveSuffix("run the same command with --as system:serviceaccount:moult-system:moult-controller, or with another user if the first variable of the policy names one\n"),
		Not(ContainSubstring("migrating needs"))), "a policy refused it, and no rule is missing")

	w.merges("kubectl-annotate", `{"metadata":{"annotations":{"moult.dev/allow-condition":"StorageMigrated"}}}`)
	got = w.moult("migrate", w.crd.Name, "--settle", "1s")
	w.Expect(got.code).To(Equal(exitNotDone))
	w.Expect(got.errOut).To(And(ContainSubstring("may not take v1alpha1 out of storedVersions"), ContainSubstring("--as "+controllerUser)), "the trim by an admin")
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))

	w.merges("kubectl-annotate", `{"metadata":{"annotations":{"moult.dev/allow-condition":null}}}`)
	person, account := w.serviceAccount()
	got = w.moult("migrate", w.crd.Name, "--settle", "1s", "--as", controllerUser, "--kubeconfig", person)
	w.Expect(got.code).To(Equal(exitError))
	w.Expect(got.errOut).To(And(MatchRegexp(`User "`+account+`" cannot impersonate`), ContainSubstring("needs the verb impersonate"),
		Not(ContainSubstring("reading CRDs needs"))))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))

	w.mayImpersonateMoult(account)
	w.Eventually(func() string {
		got = w.moult("migrate", w.crd.Name, "--settle", "1s", "--as", controllerUser, "--kubeconfig", person)
		return got.errOut
	}, running.Soon, "200ms").ShouldNot(ContainSubstring("cannot impersonate"), "the API server takes a moment to see a new role")
	w.Expect(got.code).To(Equal(exitDone), got.errOut)
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 20}))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1"}))
}

// denies installs policies/admission/deny for as long as the test runs. Tests that run after it must not meet it, so it
// ends when the API server has forgotten the policies.
func (w *world) denies() {
	w.t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../policies/admission/deny")
	w.Expect(err).NotTo(HaveOccurred())
	c := running.Client(w.t, cp.Config)
	const claim = `{"status":{"conditions":[{"type":"StorageMigrated","status":"True","reason":"Claimed","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`
	refused := func() bool {
		_, err := w.crds().Patch(context.Background(), w.crd.Name, types.MergePatchType, []byte(claim),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		return apierrors.IsForbidden(err)
	}
	deleted := func() bool {
		return apierrors.IsForbidden(w.crds().Delete(context.Background(), w.crd.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
	}
	var installed []client.Object
	w.t.Cleanup(func() {
		for _, o := range installed {
			w.Expect(c.Delete(context.Background(), o)).To(Succeed())
		}
		w.Eventually(func() bool { return refused() || deleted() }, running.Soon, "50ms").Should(BeFalse())
	})
	for _, resource := range built.Resources() {
		content, err := resource.Map()
		w.Expect(err).NotTo(HaveOccurred())
		object := &unstructured.Unstructured{Object: content}
		w.Expect(c.Create(w.ctx, object)).To(Succeed())
		installed = append(installed, object)
	}
	w.Eventually(func() bool { return refused() && deleted() }, running.Soon, "50ms").Should(BeTrue())
}

// serviceAccount is a kubeconfig with a token and without a right: impersonating a user, as the others do here, would leave
// the right to impersonate with the admin behind it.
func (w *world) serviceAccount() (kubeconfig, user string) {
	w.t.Helper()
	accounts := kubernetes.NewForConfigOrDie(cp.Config).CoreV1().ServiceAccounts(w.namespace())
	account, err := accounts.Create(w.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "person"}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	token, err := accounts.CreateToken(w.ctx, account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
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
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
	return path, "system:serviceaccount:" + account.Namespace + ":" + account.Name
}

// mayImpersonateMoult grants what docs/policies.md says.
func (w *world) mayImpersonateMoult(user string) {
	w.t.Helper()
	c := kubernetes.NewForConfigOrDie(cp.Config)
	_, err := c.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "moult-system"}}, metav1.CreateOptions{})
	w.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	meta := metav1.ObjectMeta{Namespace: "moult-system", Name: "act-as-moult"}
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"moult-controller"}, Verbs: []string{"impersonate"}}
	_, err = c.RbacV1().Roles(meta.Namespace).Create(w.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = c.RbacV1().RoleBindings(meta.Namespace).Create(w.ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

func TestWhomTheAPIServerIsAskedAs(t *testing.T) {
	another := rest.ImpersonationConfig{UserName: "another", UID: "7", Groups: []string{"theirs"}}
	for name, c := range map[string]struct {
		as         impersonation
		kubeconfig rest.ImpersonationConfig
		want       rest.ImpersonationConfig
		err        string
	}{
		"no flag":                                {},
		"no flag, and the kubeconfig has a user": {kubeconfig: another, want: another},
		"--as":                                   {as: impersonation{user: "u"}, want: rest.ImpersonationConfig{UserName: "u"}},
		"--as in place of all that the kubeconfig says of another": {as: impersonation{user: "u"}, kubeconfig: another, want: rest.ImpersonationConfig{UserName: "u"}},
		"with groups and a UID": {as: impersonation{user: "u", groups: []string{"a", "b"}, uid: "1"},
			want: rest.ImpersonationConfig{UserName: "u", Groups: []string{"a", "b"}, UID: "1"}},
		"groups for the kubeconfig's user": {as: impersonation{groups: []string{"a"}}, kubeconfig: another,
			want: rest.ImpersonationConfig{UserName: "another", UID: "7", Groups: []string{"a"}}},
		"a group without a user": {as: impersonation{groups: []string{"a"}}, err: "name the user with --as"},
		"a UID without a user":   {as: impersonation{uid: "1"}, err: "name the user with --as"},
	} {
		t.Run(name, func(t *testing.T) {
			g, cfg := NewWithT(t), &rest.Config{Impersonate: c.kubeconfig}
			err := c.as.apply(cfg)
			if c.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cfg.Impersonate).To(Equal(c.want))
		})
	}
}

func TestMoultsOwnUserIsTheOneThatIsInstalledAndLetThrough(t *testing.T) {
	for _, file := range []string{"policies/admission/base/status.yaml", "docs/policies.md", "docs/doctor.md"} {
		content, err := os.ReadFile(filepath.Join("..", "..", file))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(string(content)).To(ContainSubstring(controllerUser), file)
	}
	content, err := os.ReadFile("../../clusters/base/controller/service-account.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(string(content)).To(And(ContainSubstring("name: moult-controller\n"), ContainSubstring("namespace: moult-system\n")))
}
