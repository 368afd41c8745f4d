package install

import (
	"bytes"
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

const root = "../.."

// Installation is what one folder of clusters installs, in the test's cluster.
type Installation struct {
	t      testing.TB
	g      Gomega
	cp     *controlplane.ControlPlane
	client client.Client
	// Deployment is the controller's.
	Deployment *appsv1.Deployment
	// Token is the ServiceAccount's.
	Token string
	// around the transport is what changes the API server's answers to the controller.
	around []func(http.RoundTripper) http.RoundTripper
}

// Adopt is the installation whose Deployment somebody else has applied.
func Adopt(t testing.TB, cp *controlplane.ControlPlane, namespace, name string) *Installation {
	t.Helper()
	i := newInstallation(t, cp)
	i.Deployment = &appsv1.Deployment{}
	i.g.Expect(i.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, i.Deployment)).To(Succeed())
	i.Token = i.token()
	i.Aggregate()
	return i
}

func newInstallation(t testing.TB, cp *controlplane.ControlPlane) *Installation {
	t.Helper()
	return &Installation{t: t, g: NewWithT(t), cp: cp, client: running.Client(t, cp.Config)}
}

// Install applies what a folder of clusters builds.
func Install(t testing.TB, cp *controlplane.ControlPlane, folder string) *Installation {
	t.Helper()
	i := newInstallation(t, cp)
	running.InstallGate(t, cp.Config)
	rendering, err := render.Folder(filepath.Join(root, folder), render.Options{})
	i.g.Expect(err).NotTo(HaveOccurred())
	for _, object := range rendering.Objects {
		i.apply(object)
		if object.GetKind() == "Deployment" {
			i.Deployment = &appsv1.Deployment{}
			i.g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, i.Deployment)).To(Succeed())
		}
	}
	i.g.Expect(i.Deployment).NotTo(BeNil(), "%s installs a controller", folder)
	i.Token = i.token()
	i.Aggregate()
	return i
}

func (i *Installation) apply(object *delivery.Object) {
	i.t.Helper()
	i.g.Eventually(func() error {
		return i.client.Apply(i.t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.ForceOwnership, client.FieldOwner("install-test"))
	}, running.Soon).Should(Succeed(), "%s %s", object.GetKind(), object.GetName())
	if object.GroupVersionKind().Group == rbacv1.GroupName { // the next installation is granted nothing of it
		i.t.Cleanup(func() { _ = i.client.Delete(context.Background(), object.DeepCopy()) })
	}
}

// Grant applies the role that `moult rbac` prints for CRDs.
func (i *Installation) Grant(name string, crds ...*apiextensionsv1.CustomResourceDefinition) {
	i.t.Helper()
	var manifests bytes.Buffer
	for _, crd := range crds {
		crd = crd.DeepCopy()
		crd.APIVersion, crd.Kind = apiextensionsv1.SchemeGroupVersion.String(), "CustomResourceDefinition"
		raw, err := yaml.Marshal(crd)
		i.g.Expect(err).NotTo(HaveOccurred())
		manifests.WriteString("---\n" + string(raw))
	}
	command := exec.CommandContext(i.t.Context(), Program(i.t, "moult"), "rbac", "--name", name, "--aggregate-to", i.Deployment.Spec.Template.Spec.ServiceAccountName, "-")
	command.Stdin = &manifests
	role, err := command.Output()
	i.g.Expect(err).NotTo(HaveOccurred(), string(role))
	rendering, err := render.Stream("moult rbac", bytes.NewReader(role))
	i.g.Expect(err).NotTo(HaveOccurred())
	i.g.Expect(rendering.Objects).To(HaveLen(1))
	i.apply(rendering.Objects[0])
	i.Aggregate()
}

// Aggregate does what the controller manager does in a cluster: it gives each ClusterRole that asks for it the rules of
// those that its selectors match, in the order of their names.
func (i *Installation) Aggregate() {
	i.t.Helper()
	list := &rbacv1.ClusterRoleList{}
	i.g.Expect(i.client.List(i.t.Context(), list)).To(Succeed())
	slices.SortFunc(list.Items, func(a, b rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	for n := range list.Items {
		role := &list.Items[n]
		if role.AggregationRule == nil || !strings.Contains(role.Name, "moult") {
			continue
		}
		role.Rules = nil
		for _, wanted := range role.AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&wanted)
			i.g.Expect(err).NotTo(HaveOccurred())
			for _, part := range list.Items {
				if part.Name != role.Name && selector.Matches(labels.Set(part.Labels)) {
					role.Rules = append(role.Rules, part.Rules...)
				}
			}
		}
		i.g.Expect(i.client.Update(i.t.Context(), role)).To(Succeed())
	}
}

func (i *Installation) token() string {
	i.t.Helper()
	account := i.Deployment.Spec.Template.Spec.ServiceAccountName
	request, err := kubernetes.NewForConfigOrDie(i.cp.Config).CoreV1().ServiceAccounts(i.Deployment.Namespace).
		CreateToken(i.t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	i.g.Expect(err).NotTo(HaveOccurred())
	return request.Status.Token
}

// Config is a client configuration of the ServiceAccount.
func (i *Installation) Config() *rest.Config {
	config := rest.AnonymousClientConfig(i.cp.Config)
	config.BearerToken, config.QPS = i.Token, -1
	return config
}
