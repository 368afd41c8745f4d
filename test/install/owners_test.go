package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

const ownersRole = "clusters/components/repair-owners/role.yaml"

// The Component grants what the command prints, and that is every resource of Kubernetes' own.
func TestTheRoleForOwnerReferencesIsExactAndWhole(t *testing.T) {
	g := NewWithT(t)
	printed, err := exec.CommandContext(t.Context(), Program(t, "moult"), "rbac", "--repair-owners").Output()
	g.Expect(err).NotTo(HaveOccurred())
	committed, err := os.ReadFile(filepath.Join(root, ownersRole))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(committed)).To(Equal(string(printed)), "print it anew")

	role := &rbacv1.ClusterRole{}
	g.Expect(yaml.UnmarshalStrict(committed, role)).To(Succeed())
	may := func(verb, group, resource string) bool {
		return slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) && slices.Contains(rule.Verbs, verb)
		})
	}
	cluster, err := inspect.Connect(cp.Config)
	g.Expect(err).NotTo(HaveOccurred())
	all, unseen, err := cluster.Resources()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unseen).To(BeEmpty())
	own := 0
	for _, r := range all {
		if strings.HasSuffix(r.Group, ".example.com") || strings.HasSuffix(r.Group, "moult.dev") {
			continue // of another test
		}
		own++
		g.Expect(may("list", r.Group, r.Resource)).To(BeTrue(), "list on %s", r)
	}
	g.Expect(own).To(BeNumerically(">", 40))
	for _, never := range []struct{ group, resource string }{
		{"rbac.authorization.k8s.io", "clusterroles"}, {"rbac.authorization.k8s.io", "clusterrolebindings"}, {"apiextensions.k8s.io", "customresourcedefinitions"},
		{"admissionregistration.k8s.io", "validatingwebhookconfigurations"}, {"", "nodes"}, {"", "namespaces"},
	} {
		g.Expect(may("patch", never.group, never.resource)).To(BeFalse(), "patch on %s", never.resource)
	}
}

func TestTheRoleForStashedCopiesIsWhatIsPrinted(t *testing.T) {
	g := NewWithT(t)
	printed, err := exec.CommandContext(t.Context(), Program(t, "moult"), "rbac", "--migrate-stashes").Output()
	g.Expect(err).NotTo(HaveOccurred())
	committed, err := os.ReadFile(filepath.Join(root, "clusters/components/migrate-stashes/role.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(committed)).To(Equal(string(printed)), "print it anew")
	g.Expect(string(committed)).NotTo(ContainSubstring("*"))
}

func TestOwnerReferencesAreMovedWithTheShippedRoles(t *testing.T) {
	g := NewWithT(t)
	group := builders.UniqueGroup(t)
	widgets := flipped(t, group, "widgets", 1, v1alpha1.MigrateLabel)
	widgets.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{v1alpha1.RepairOwnersAnnotation: "true"}
	})
	owner, err := widgets.Objects("v1").Get(t.Context(), "object-00000", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	gate := running.GateFor(widgets)
	core, name := kubernetes.NewForConfigOrDie(cp.Config).CoreV1().Secrets("default"), gate.Name.Namespace+"-soil"
	_, err = core.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: group + "/v1alpha1", Kind: "Widget", Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: new(true)}}}}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	gate.Ask()

	moult := Install(t, cp, "clusters/base")
	moult.Grant("install-test-owners", lives(widgets)...)
	role, err := os.Open(filepath.Join(root, ownersRole))
	g.Expect(err).NotTo(HaveOccurred())
	rendering, err := render.Stream(ownersRole, role)
	g.Expect(err).NotTo(HaveOccurred())
	moult.apply(rendering.Objects[0])
	moult.Aggregate()
	moult.inForce(t, "/apis/"+group+"/v1/widgets", "moult-objects")
	controller := moult.Start()
	g.Eventually(func() (string, error) {
		secret, err := core.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return secret.OwnerReferences[0].APIVersion, nil
	}, running.Soon).Should(Equal(group + "/v1"))
	g.Expect(controller.Seen(func(r Request) bool {
		return r.Code == 401 || r.Code == 403 && !strings.Contains(r.Path, "example.com")
	})).To(BeEmpty())
}
