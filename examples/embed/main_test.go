package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.Run(m, &cp)
}

func TestTheOperatorMigratesItsOwnCRDAndNoOther(t *testing.T) {
	g := NewWithT(t)
	own := flipped(g, t, builders.CRD(group, "widgets").Label(labelKey, "true"))
	others := map[string]*apiextensionsv1.CustomResourceDefinition{
		"labelled for Moult, in another group":        flipped(g, t, builders.CRD("gadgets.example.com", "gadgets").OptedIn()),
		"labelled for the operator, in another group": flipped(g, t, builders.CRD("gizmos.example.com", "gizmos").Label(labelKey, "true")),
		"in the operator's group, without its label":  flipped(g, t, builders.CRD(group, "sprockets").OptedIn()),
	}
	startOperator(g, t)

	g.Eventually(func() []string { return live(g, t, own).Status.StoredVersions }, time.Minute).Should(Equal([]string{"v1"}))
	g.Expect(cp.Etcd().CountByVersion(t.Context(), builders.Resource(own, "v1").GroupResource())).To(Equal(map[string]int{"v1": 20}))
	for name, crd := range others {
		g.Expect(cp.Etcd().Writes(t.Context(), builders.Resource(crd, "v1").GroupResource())).To(BeZero(), name)
		status := live(g, t, crd).Status
		g.Expect(status.StoredVersions).To(Equal([]string{"v1alpha1", "v1"}), name)
		g.Expect(status.Conditions).NotTo(ContainElement(HaveField("Type", BeEquivalentTo(v1alpha1.StorageMigrated))), name)
	}
}

// flipped is a CRD with 20 objects stored at v1alpha1 and v1 as its storage version.
func flipped(g *WithT, t *testing.T, builder *builders.CRDBuilder) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := builder.Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
	g.Expect(builders.Install(t.Context(), cp.Config, crd)).To(Succeed())
	g.Expect(builders.CreateObjects(t.Context(), cp.Config, builders.Resource(crd, "v1alpha1"), "default", 20)).To(Succeed())
	g.Expect(builders.FlipStorage(t.Context(), cp.Config, crd.Name, "v1")).To(Succeed())
	t.Cleanup(func() { remove(g, crd.Name) }) // the next run of the test has the same names
	return crd
}

func remove(g *WithT, name string) {
	crds, ctx := apiextensions.NewForConfigOrDie(cp.Config).CustomResourceDefinitions(), context.Background()
	g.Expect(crds.Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(func() error { _, err := crds.Get(ctx, name, metav1.GetOptions{}); return err }, 5*time.Minute).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
}

// startOperator runs the operator as a user who may do what README.md asks for and nothing else.
func startOperator(g *WithT, t *testing.T) {
	t.Helper()
	const user = "widgets-operator"
	grant(g, t, user)
	cfg := rest.CopyConfig(cp.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	mgr, err := newManager(cfg, manager.Options{Metrics: metricsserver.Options{BindAddress: "0"}}, migration.Options{Settle: time.Second})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		g.Expect(<-ended).To(Succeed())
	})
}

func grant(g *WithT, t *testing.T, user string) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, role, _ := strings.Cut(string(readme), "```yaml\n")
	role, _, _ = strings.Cut(role, "```")
	rules := &rbacv1.ClusterRole{}
	g.Expect(yaml.UnmarshalStrict([]byte(role), rules)).To(Succeed())

	rbac := kubernetes.NewForConfigOrDie(cp.Config).RbacV1()
	_, err = rbac.ClusterRoles().Create(t.Context(), rules, metav1.CreateOptions{})
	g.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	_, err = rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: rules.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: rules.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	g.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
}

func live(g *WithT, t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	found, err := apiextensions.NewForConfigOrDie(cp.Config).CustomResourceDefinitions().Get(t.Context(), crd.Name, metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	return found
}
