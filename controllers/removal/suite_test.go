package removal_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	if os.Getenv("MOULT_TEST_LOG") != "" {
		log.SetLogger(zap.New(zap.UseDevMode(true)))
	}
	controlplane.Run(m, &cp)
}

// soon is how long a step may take on a busy machine.
const soon = 30 * time.Second

// gate is one VersionRemoval and its CRD, seen from outside.
type gate struct {
	*WithT
	t      *testing.T
	ctx    context.Context
	client client.Client
	gr     schema.GroupResource
	name   client.ObjectKey
}

func scheme(g *WithT) *runtime.Scheme {
	s := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(s)).To(Succeed())
	g.Expect(v1alpha1.AddToScheme(s)).To(Succeed())
	g.Expect(apiextensionsv1.AddToScheme(s)).To(Succeed())
	return s
}

// newGate makes a namespace of its own for VersionRemovals, and the CRD that
// VersionRemovals are.
func newGate(t *testing.T, group string) *gate {
	t.Helper()
	g := &gate{WithT: NewWithT(t), t: t, ctx: t.Context(), gr: schema.GroupResource{Group: group, Resource: "widgets"}}
	g.client = newClient(g.WithT)
	g.installGate()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "gate-"}}
	g.Expect(g.client.Create(g.ctx, ns)).To(Succeed())
	g.name = client.ObjectKey{Namespace: ns.Name, Name: "no-v1alpha1"}
	return g
}

func newClient(g *WithT) client.Client {
	c, err := client.New(cp.Config, client.Options{Scheme: scheme(g)})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

func (g *gate) installGate() {
	raw, err := os.ReadFile("../../clusters/base/crds/moult.dev_versionremovals.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.Unmarshal(raw, crd)).To(Succeed())
	g.Expect(client.IgnoreAlreadyExists(g.client.Create(g.ctx, crd))).To(Succeed())
	g.Expect(builders.WaitServed(g.ctx, cp.Config, crd)).To(Succeed())
}

// install installs a CRD with n objects stored at v1alpha1.
func (g *gate) install(crd *builders.CRDBuilder, n int) {
	g.t.Helper()
	g.Expect(builders.Install(g.ctx, cp.Config, crd.Build())).To(Succeed())
	g.Expect(builders.CreateObjects(g.ctx, cp.Config, g.gr.WithVersion("v1alpha1"), "default", n)).To(Succeed())
	g.t.Cleanup(func() { _ = g.client.Delete(context.Background(), g.crdObject()) })
}

func (g *gate) crdObject() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: g.gr.String()}}
}

func (g *gate) crd() *apiextensionsv1.CustomResourceDefinition {
	g.t.Helper()
	crd := g.crdObject()
	g.Expect(g.client.Get(g.ctx, client.ObjectKeyFromObject(crd), crd)).To(Succeed())
	return crd
}

func (g *gate) update(change func(*apiextensionsv1.CustomResourceDefinition)) {
	g.t.Helper()
	g.Expect(builders.Update(g.ctx, cp.Config, g.gr.String(), change)).To(Succeed())
}

func (g *gate) flip() {
	g.t.Helper()
	g.Expect(builders.FlipStorage(g.ctx, cp.Config, g.gr.String(), "v1")).To(Succeed())
}

// ask creates the VersionRemoval.
func (g *gate) ask(change ...func(*v1alpha1.VersionRemoval)) {
	g.t.Helper()
	removal := &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.name.Namespace, Name: g.name.Name},
		Spec:       v1alpha1.VersionRemovalSpec{CRDName: g.gr.String(), Versions: []string{"v1alpha1"}},
	}
	for _, c := range change {
		c(removal)
	}
	g.Expect(g.client.Create(g.ctx, removal)).To(Succeed())
}

func (g *gate) removal() *v1alpha1.VersionRemoval {
	removal := &v1alpha1.VersionRemoval{}
	g.Expect(g.client.Get(g.ctx, g.name, removal)).To(Succeed())
	return removal
}

// verdict is "True SafeToRemove", "False Migrating" and so on, with "Stalled" or
// "Reconciling" behind it.
func (g *gate) verdict() string {
	v, said := "", ""
	for _, c := range g.removal().Status.Conditions {
		switch {
		case c.Type == "Ready":
			v = string(c.Status) + " " + c.Reason
		case c.Status == metav1.ConditionTrue:
			said += " " + c.Type
		}
	}
	return v + said
}

func (g *gate) message() string {
	for _, c := range g.removal().Status.Conditions {
		if c.Type == "Ready" {
			return c.Message
		}
	}
	return ""
}

func (g *gate) eventually(verdict string) {
	g.t.Helper()
	g.Eventually(g.verdict, soon, "20ms").Should(Equal(verdict), func() string { return g.message() })
	g.Eventually(func() bool { // written right after the conditions
		r := g.removal()
		return r.Status.ObservedGeneration == r.Generation
	}, soon, "20ms").Should(BeTrue())
}

func (g *gate) stored() map[string]int {
	g.t.Helper()
	counts, err := cp.Etcd().CountByVersion(g.ctx, g.gr)
	g.Expect(err).NotTo(HaveOccurred())
	return counts
}

// moult runs both reconcilers in a manager until the test ends or stop is called.
func (g *gate) moult(change ...func(*migration.Options, *removal.Options)) (stop func()) {
	return g.moultAt(cp.Config, change...)
}

func (g *gate) moultAt(cfg *rest.Config, change ...func(*migration.Options, *removal.Options)) (stop func()) {
	g.t.Helper()
	board := migration.NewBoard()
	m := migration.Options{Groups: []string{g.gr.Group}, Settle: time.Second, Registerer: prometheus.NewRegistry(), Board: board}
	r := removal.Options{Migration: board, Namespaces: []string{g.name.Namespace}}
	for _, c := range change {
		c(&m, &r)
	}
	mgr, err := ctrl.NewManager(rest.CopyConfig(cfg), manager.Options{Scheme: scheme(g.WithT), Metrics: metricsserver.Options{BindAddress: "0"}})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	g.Expect(migration.SetupWithManager(mgr, m)).To(Succeed())
	g.Expect(removal.SetupWithManager(ctx, mgr, r)).To(Succeed())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			g.Expect(<-done).To(Succeed())
		}
	}
	g.t.Cleanup(stop)
	return stop
}
