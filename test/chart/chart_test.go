package chart

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v4/pkg/action"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
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
	return &helm{Configuration: configuration, chart: load(g)}
}

func load(g *WithT) *chartv2.Chart {
	chart, err := loader.Load("../../clusters/chart")
	g.Expect(err).NotTo(HaveOccurred())
	return chart
}

// before is the chart of the release before: of another version, and its CRD has neither spec.require nor the last column.
func before(g *WithT) *chartv2.Chart {
	chart := load(g)
	chart.Metadata.Version, chart.Metadata.AppVersion = "0.0.9", "v0.0.9"
	for _, template := range chart.Templates {
		if template.Name == "templates/generated/crds.yaml" {
			for _, newer := range []string{`(?m)^              require:\n(                .*\n)+`, `(?m)^    - jsonPath: .*\.message\n(      .*\n)+`} {
				older := regexp.MustCompile(newer).ReplaceAll(template.Data, nil)
				g.Expect(older).NotTo(Equal(template.Data), newer)
				template.Data = older
			}
			return chart
		}
	}
	g.Expect(chart.Templates).To(BeNil(), "the CRD is not there")
	return nil
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

// rollback goes back to the revision before the last.
func (h *helm) rollback() error {
	rollback := action.NewRollback(h.Configuration)
	rollback.WaitStrategy = kube.HookOnlyStrategy
	return rollback.Run(release)
}

func (h *helm) uninstall() error {
	uninstall := action.NewUninstall(h.Configuration)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	_, err := uninstall.Run(release)
	return err
}

// story is what happens to one VersionRemoval.
type story struct {
	*WithT
	*helm
	t       *testing.T
	client  client.Client
	removal *v1alpha1.VersionRemoval
	uid     types.UID
}

// stays expects the VersionRemoval to be the one that was created, and what it asks for to be what the CRD at hand has.
func (s *story) stays(required ...v1alpha1.Requirement) {
	s.t.Helper()
	s.Eventually(func(g Gomega) {
		g.Expect(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(s.removal), s.removal)).To(Succeed())
		g.Expect(s.removal.Spec.Require).To(ConsistOf(required))
	}, running.Soon, "50ms").Should(Succeed())
	s.Expect(s.removal.UID).To(Equal(s.uid))
	s.Expect(s.removal.DeletionTimestamp).To(BeNil())
	s.Expect(s.removal.Spec.CRDName).To(Equal("widgets.example.com"))
}

// installed is the version that the last release names, the controller's image, and how many columns the CRD has.
func (s *story) installed() (version, image string, columns int) {
	s.t.Helper()
	last, err := s.Releases.Last(release)
	s.Expect(err).NotTo(HaveOccurred())
	of, is := last.(*releasev1.Release)
	s.Expect(is).To(BeTrue())
	version = of.Chart.Metadata.Version
	var d appsv1.Deployment
	s.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: "moult-controller"}, &d)).To(Succeed())
	var crd apiextensionsv1.CustomResourceDefinition
	s.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Name: "versionremovals.moult.dev"}, &crd)).To(Succeed())
	return version, d.Spec.Template.Spec.Containers[0].Image, len(crd.Spec.Versions[0].AdditionalPrinterColumns)
}

func (s *story) expect(version, tag string, columns int) {
	s.t.Helper()
	haveVersion, image, have := s.installed()
	s.Expect(haveVersion).To(Equal(version))
	s.Expect(image).To(Equal("r.example.com/moult-controller:" + tag))
	s.Expect(have).To(Equal(columns), "columns of the CRD")
}

func (s *story) mayNudge() bool {
	err := s.client.Get(s.t.Context(), client.ObjectKey{Name: "moult-nudge"}, &rbacv1.ClusterRole{})
	s.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err == nil
}

func with(tag string, more ...string) map[string]any {
	values := map[string]any{"image": map[string]any{"repository": "r.example.com/moult-controller", "tag": tag}}
	for _, name := range more {
		values[name] = true
	}
	return values
}

// A VersionRemoval is there from the first release on. It is the same one after an upgrade from the release before, after the
// way back and forth again, and after the chart was uninstalled and installed again: deleting the CRD, or the namespace,
// would delete it.
func TestAVersionRemovalOutlivesTheChart(t *testing.T) {
	s := &story{WithT: NewWithT(t), helm: newHelm(t), t: t, client: running.Client(t, cp.Config)}
	s.removal = &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "widgets"},
		Spec:       v1alpha1.VersionRemovalSpec{CRDName: "widgets.example.com", Versions: []string{"v1alpha1"}},
	}
	today, older := s.chart, before(s.WithT)

	s.chart = older
	s.Expect(s.install(with("v0.0.9"))).To(Succeed())
	_, _, columns := s.installed()
	s.expect("0.0.9", "v0.0.9", columns)
	s.Eventually(func() error { return s.client.Create(t.Context(), s.removal) }, running.Soon, "50ms").Should(Succeed())
	s.uid = s.removal.UID

	s.chart = today
	upgraded := func() {
		t.Helper()
		s.Expect(s.upgrade(with("v0.1.0", "references", "nudge", "repairOwners", "migrateStashes", "inTreeMigrator", "dashboard"))).To(Succeed())
		s.expect(today.Metadata.Version, "v0.1.0", columns+1)
		s.Expect(s.mayNudge()).To(BeTrue())
	}
	upgraded()
	s.stays()
	s.Eventually(func() []v1alpha1.Requirement { // until the API server serves the new schema
		s.removal.Spec.Require = []v1alpha1.Requirement{v1alpha1.Unserved}
		s.Expect(s.client.Update(t.Context(), s.removal)).To(Succeed())
		return s.removal.Spec.Require
	}, running.Soon, "50ms").Should(HaveLen(1))

	s.Expect(s.rollback()).To(Succeed())
	s.expect("0.0.9", "v0.0.9", columns)
	s.Expect(s.mayNudge()).To(BeFalse(), "a rollback takes rights back")
	s.stays() // the older CRD does not know what it asks for, and etcd still does

	upgraded()
	s.stays(v1alpha1.Unserved)

	s.Expect(s.uninstall()).To(Succeed())
	s.Expect(s.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "moult-controller"}, &appsv1.Deployment{})).To(MatchError(apierrors.IsNotFound, "not found"))
	s.Expect(s.mayNudge()).To(BeFalse())
	var kept corev1.Namespace
	s.Expect(s.client.Get(t.Context(), client.ObjectKey{Name: namespace}, &kept)).To(Succeed())
	s.Expect(kept.DeletionTimestamp).To(BeNil())
	s.stays(v1alpha1.Unserved)

	s.Expect(s.install(with("v0.1.1"))).To(Succeed())
	s.expect(today.Metadata.Version, "v0.1.1", columns+1)
	s.stays(v1alpha1.Unserved)
}
