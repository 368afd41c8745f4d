package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
)

var cp *controlplane.ControlPlane

// asController makes the test's own binary be the controller: a process of its
// own, as in life, since run sets loggers that are global.
const asController = "MOULT_TEST_AS_CONTROLLER"

func TestMain(m *testing.M) {
	if os.Getenv(asController) != "" {
		main()
		return
	}
	log.SetLogger(logr.Discard())
	controlplane.Run(m, &cp)
}

const soon = 60 * time.Second

// The controller is run as a user who may do what README.md says is needed, and
// nothing else.
func TestThePermissionsInTheREADMEAreEnough(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	c := newClient(g)
	const user = "moult-as-in-the-readme"
	grant(ctx, g, c, user)

	widgets := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
	g.Expect(builders.Install(ctx, cp.Config, widgets)).To(Succeed())
	g.Expect(builders.CreateObjects(ctx, cp.Config, builders.Resource(widgets, "v1alpha1"), "default", 20)).To(Succeed())
	g.Expect(builders.FlipStorage(ctx, cp.Config, widgets.Name, "v1")).To(Succeed())

	controller := exec.Command(os.Args[0], "--settle", "1s", "--metrics-addr", "0", "--health-addr", "0", "--log-level", "error",
		"--enable-leader-election", "--leader-election-namespace", "default")
	controller.Env = append(os.Environ(), asController+"=1", "KUBECONFIG="+kubeconfigAs(t, user))
	controller.Stdout, controller.Stderr = os.Stdout, os.Stderr
	g.Expect(controller.Start()).To(Succeed())
	t.Cleanup(func() { _ = controller.Process.Kill() })

	// The gate's CRD comes while the controller runs.
	installGate(ctx, g, c)
	removal := &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "widgets"},
		Spec: v1alpha1.VersionRemovalSpec{CRDName: widgets.Name, Versions: []string{"v1alpha1"}}}
	g.Expect(c.Create(ctx, removal)).To(Succeed())
	for _, name := range []string{widgets.Name, "versionremovals.moult.dev"} {
		g.Eventually(func() string { return reasonOf(ctx, c, name) }, soon, "100ms").Should(Equal(v1alpha1.ReasonMigrated), name)
	}
	g.Eventually(func() []metav1.Condition {
		_ = c.Get(ctx, client.ObjectKeyFromObject(removal), removal)
		return removal.Status.Conditions
	}, soon, "100ms").Should(ContainElement(And(HaveField("Type", "Ready"), HaveField("Reason", v1alpha1.ReasonSafeToRemove))))

	g.Expect(controller.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Expect(controller.Wait()).To(Succeed())
}

func newClient(g *WithT) client.Client {
	scheme := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(cp.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

// grant gives a user the rules that stand in README.md.
func grant(ctx context.Context, g *WithT, c client.Client, user string) {
	readme, err := os.ReadFile("../../README.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, rules, found := bytes.Cut(readme, []byte("```yaml\nrules:\n"))
	g.Expect(found).To(BeTrue(), "README.md has a block of rules")
	rules, _, _ = bytes.Cut(rules, []byte("```"))
	role := &rbacv1.ClusterRole{}
	g.Expect(yaml.UnmarshalStrict(append([]byte("rules:\n"), rules...), role)).To(Succeed())
	role.Name = user
	g.Expect(c.Create(ctx, role)).To(Succeed())
	g.Expect(c.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}})).To(Succeed())
}

// kubeconfigAs is a kubeconfig file that impersonates a user.
func kubeconfigAs(t *testing.T, user string) string {
	t.Helper()
	g := NewWithT(t)
	raw, err := cp.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.Load(raw)
	g.Expect(err).NotTo(HaveOccurred())
	for _, info := range config.AuthInfos {
		info.Impersonate = user
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

func installGate(ctx context.Context, g *WithT, c client.Client) {
	raw, err := os.ReadFile("../../clusters/base/crds/moult.dev_versionremovals.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.Unmarshal(raw, crd)).To(Succeed())
	g.Expect(c.Create(ctx, crd)).To(Succeed())
	g.Expect(builders.WaitServed(ctx, cp.Config, crd)).To(Succeed())
}

func reasonOf(ctx context.Context, c client.Client, name string) string {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if c.Get(ctx, client.ObjectKey{Name: name}, crd) != nil {
		return ""
	}
	for _, condition := range crd.Status.Conditions {
		if condition.Type == v1alpha1.StorageMigrated {
			return condition.Reason
		}
	}
	return ""
}
