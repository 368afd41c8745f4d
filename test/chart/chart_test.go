package chart

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v4/pkg/action"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/running"
)

const (
	release   = "moult"
	home      = "default" // where Helm keeps its release
	namespace = "moult-system"
)

// helm is Helm with the release of one chart.
type helm struct {
	*action.Configuration
	chart *chartv2.Chart
}

func newHelm(t *testing.T) *helm {
	t.Helper()
	g := NewWithT(t)
	content, err := cp.APIServer().KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig = &file
	configuration := action.NewConfiguration(action.ConfigurationSetLogger(slog.NewTextHandler(io.Discard, nil)))
	g.Expect(configuration.Init(flags, home, "secret")).To(Succeed())
	chart, err := loader.Load("../../clusters/chart")
	g.Expect(err).NotTo(HaveOccurred())
	return &helm{Configuration: configuration, chart: chart}
}

func (h *helm) install(values map[string]any) error {
	install := action.NewInstall(h.Configuration)
	install.ReleaseName, install.Namespace, install.WaitStrategy = release, home, kube.HookOnlyStrategy
	_, err := install.Run(h.chart, values)
	return err
}

func (h *helm) upgrade(values map[string]any) error {
	upgrade := action.NewUpgrade(h.Configuration)
	upgrade.Namespace, upgrade.WaitStrategy = home, kube.HookOnlyStrategy
	_, err := upgrade.Run(release, h.chart, values)
	return err
}

func (h *helm) uninstall() error {
	uninstall := action.NewUninstall(h.Configuration)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	_, err := uninstall.Run(release)
	return err
}

// A VersionRemoval is there before the chart is upgraded, and is the same one after it was uninstalled and installed again:
// deleting the CRD, or the namespace, would delete it.
func TestAVersionRemovalOutlivesTheChart(t *testing.T) {
	g := NewWithT(t)
	c, h := running.Client(t, cp.Config), newHelm(t)
	removal := &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "widgets"},
		Spec:       v1alpha1.VersionRemovalSpec{CRDName: "widgets.example.com", Versions: []string{"v1alpha1"}},
	}
	var uid types.UID
	stays := func(when string) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(removal), removal)).To(Succeed(), when)
		g.Expect(removal.UID).To(Equal(uid), when)
		g.Expect(removal.DeletionTimestamp).To(BeNil(), when)
	}
	image := func() string {
		var d appsv1.Deployment
		err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "moult-controller"}, &d)
		if apierrors.IsNotFound(err) {
			return "none"
		}
		g.Expect(err).NotTo(HaveOccurred())
		return d.Spec.Template.Spec.Containers[0].Image
	}
	with := func(tag string, more ...string) map[string]any {
		values := map[string]any{"image": map[string]any{"repository": "r.example.com/moult-controller", "tag": tag}}
		for _, name := range more {
			values[name] = true
		}
		return values
	}

	g.Expect(h.install(with("v1"))).To(Succeed())
	g.Expect(image()).To(Equal("r.example.com/moult-controller:v1"))
	g.Eventually(func() error { return c.Create(t.Context(), removal) }, running.Soon, "50ms").Should(Succeed())
	uid = removal.UID

	var crd apiextensionsv1.CustomResourceDefinition
	crdKey := client.ObjectKey{Name: "versionremovals.moult.dev"}
	g.Expect(c.Get(t.Context(), crdKey, &crd)).To(Succeed())
	columns := len(crd.Spec.Versions[0].AdditionalPrinterColumns)
	h.changeCRD(g)
	g.Expect(h.upgrade(with("v2", "references", "nudge", "repairOwners", "migrateStashes", "inTreeMigrator", "dashboard"))).To(Succeed())
	g.Expect(image()).To(Equal("r.example.com/moult-controller:v2"))
	g.Expect(c.Get(t.Context(), crdKey, &crd)).To(Succeed())
	g.Expect(crd.Spec.Versions[0].AdditionalPrinterColumns).To(HaveLen(columns+1), "an upgrade changes the CRD")
	stays("after an upgrade")

	g.Expect(h.uninstall()).To(Succeed())
	g.Expect(image()).To(Equal("none"))
	g.Expect(c.Get(t.Context(), client.ObjectKey{Name: "moult-nudge"}, &rbacv1.ClusterRole{})).To(MatchError(apierrors.IsNotFound, "not found"))
	var kept corev1.Namespace
	g.Expect(c.Get(t.Context(), client.ObjectKey{Name: namespace}, &kept)).To(Succeed())
	g.Expect(kept.DeletionTimestamp).To(BeNil())
	stays("after an uninstall")

	g.Expect(h.install(with("v3"))).To(Succeed())
	g.Expect(image()).To(Equal("r.example.com/moult-controller:v3"))
	stays("after another install")
}

// changeCRD is what a newer chart does: its CRD has a column more.
func (h *helm) changeCRD(g *WithT) {
	for _, template := range h.chart.Templates {
		if template.Name == "templates/generated/crds.yaml" {
			const columns = "  - additionalPrinterColumns:\n"
			g.Expect(string(template.Data)).To(ContainSubstring(columns))
			template.Data = bytes.Replace(template.Data, []byte(columns), []byte(columns+"    - {name: Newer, type: string, jsonPath: .metadata.name}\n"), 1)
			return
		}
	}
	g.Expect(h.chart.Templates).To(BeNil(), "the CRD is not there")
}
