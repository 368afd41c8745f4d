package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/reference"
	"github.com/moult-dev/moult/test/running"
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
	controlplane.Run(m, &cp, controlplane.Own("the controller acts on all CRDs of the cluster"))
}

const soon = running.Soon

// The controller is run as a user who may do what docs/reference.md says is
// needed, and nothing else.
func TestThePermissionsInTheReferenceAreEnough(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	c := running.Client(t, cp.Config)
	const user = "moult-as-in-the-reference"
	running.User(t, cp.Config, user, documentedRules(g)...)
	widgets := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
	running.InstallFlipped(t, cp, widgets, 20)
	t.Cleanup(func() { remove(g, c, widgets.Name, "versionremovals.moult.dev") }) // the next run of the test has the same names

	controller := exec.Command(os.Args[0], "--settle", "1s", "--metrics-addr", "0", "--health-addr", "0", "--log-level", "error",
		"--enable-leader-election", "--leader-election-namespace", "default")
	controller.Env = append(os.Environ(), asController+"=1", "KUBECONFIG="+kubeconfigAs(t, user))
	controller.Stdout, controller.Stderr = os.Stdout, os.Stderr
	g.Expect(controller.Start()).To(Succeed())
	t.Cleanup(func() { _ = controller.Process.Kill() })

	// The gate's CRD comes while the controller runs.
	running.InstallGate(t, cp.Config)
	removal := &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "widgets"},
		Spec: v1alpha1.VersionRemovalSpec{CRDName: widgets.Name, Versions: []string{"v1alpha1"}}}
	g.Expect(c.Create(ctx, removal)).To(Succeed())
	for _, name := range []string{widgets.Name, "versionremovals.moult.dev"} {
		g.Eventually(func() string { return reasonOf(ctx, c, name) }, soon).Should(Equal(v1alpha1.ReasonMigrated), name)
	}
	g.Eventually(func() []metav1.Condition {
		_ = c.Get(ctx, client.ObjectKeyFromObject(removal), removal)
		return removal.Status.Conditions
	}, soon).Should(ContainElement(And(HaveField("Type", "Ready"), HaveField("Reason", v1alpha1.ReasonSafeToRemove))))

	g.Expect(controller.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Expect(controller.Wait()).To(Succeed())
}

// documentedRules are the rules that docs/reference.md asks for.
func documentedRules(g *WithT) []rbacv1.PolicyRule {
	text, err := reference.Text()
	g.Expect(err).NotTo(HaveOccurred())
	_, rules, found := strings.Cut(text, "```yaml\nrules:\n")
	g.Expect(found).To(BeTrue(), "docs/reference.md has a block of rules")
	rules, _, _ = strings.Cut(rules, "```")
	role := &rbacv1.ClusterRole{}
	g.Expect(yaml.UnmarshalStrict([]byte("rules:\n"+rules), role)).To(Succeed())
	return role.Rules
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

// remove deletes CRDs and waits until they are gone.
func remove(g *WithT, c client.Client, names ...string) {
	for _, name := range names {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		g.Eventually(func() error { return c.Delete(context.Background(), crd) }, soon).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
	}
}
