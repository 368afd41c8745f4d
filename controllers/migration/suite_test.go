package migration_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
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

// soon is how long a step of the controller may take on a busy machine.
const soon = 30 * time.Second

// world is one test's CRD, seen from outside.
type world struct {
	*WithT
	t    *testing.T
	ctx  context.Context
	crds apiextensions.Interface
	name string
	gr   schema.GroupResource
	crd  *apiextensionsv1.CustomResourceDefinition
}

// newWorld installs a CRD.
func newWorld(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *world {
	t.Helper()
	w := &world{
		WithT: NewWithT(t), t: t, ctx: t.Context(), crd: crd, name: crd.Name,
		crds: apiextensions.NewForConfigOrDie(cp.Config),
		gr:   schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural},
	}
	w.Expect(builders.Install(w.ctx, cp.Config, crd)).To(Succeed())
	t.Cleanup(func() {
		_ = w.crds.ApiextensionsV1().CustomResourceDefinitions().Delete(context.Background(), w.name, metav1.DeleteOptions{})
	})
	return w
}

// widgets is a CRD whose objects are stored at v1alpha1, in a group of its own.
func widgets(t *testing.T) *builders.CRDBuilder {
	t.Helper()
	return builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn()
}

// flippedWorld has n objects stored at v1alpha1 and v1 as the storage version.
func flippedWorld(t *testing.T, crd *builders.CRDBuilder, n int, opts ...builders.ObjectOption) *world {
	t.Helper()
	w := newWorld(t, crd.Build())
	w.create(n, opts...)
	w.flip("v1")
	w.Expect(w.stored()).To(HaveKeyWithValue("v1alpha1", n), "the objects must be stale before the test begins")
	return w
}

func (w *world) create(n int, opts ...builders.ObjectOption) {
	w.t.Helper()
	w.Expect(builders.CreateObjects(w.ctx, cp.Config, w.gr.WithVersion("v1alpha1"), "default", n, opts...)).To(Succeed())
}

func (w *world) flip(version string) {
	w.t.Helper()
	w.Expect(builders.FlipStorage(w.ctx, cp.Config, w.name, version)).To(Succeed())
}

// stored counts the objects in etcd by the version they are stored at.
func (w *world) stored() map[string]int {
	w.t.Helper()
	counts, err := cp.Etcd().CountByVersion(w.ctx, w.gr)
	w.Expect(err).NotTo(HaveOccurred())
	return counts
}

// writes is how often the objects have been written since their creation.
func (w *world) writes() int64 {
	w.t.Helper()
	n, err := cp.Etcd().Writes(w.ctx, w.gr)
	w.Expect(err).NotTo(HaveOccurred())
	return n
}

func (w *world) live() *apiextensionsv1.CustomResourceDefinition {
	w.t.Helper()
	crd, err := w.crds.ApiextensionsV1().CustomResourceDefinitions().Get(w.ctx, w.name, metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return crd
}

func (w *world) storedVersions() []string { return w.live().Status.StoredVersions }

// condition is Moult's condition, empty if there is none.
func (w *world) condition() apiextensionsv1.CustomResourceDefinitionCondition {
	for _, c := range w.live().Status.Conditions {
		if c.Type == v1alpha1.StorageMigrated {
			return c
		}
	}
	return apiextensionsv1.CustomResourceDefinitionCondition{}
}

func (w *world) reason() string { return w.condition().Reason }

// eventuallyMigrated waits until the CRD says that it is migrated and checks in
// etcd that it is.
func (w *world) eventuallyMigrated(n int) {
	w.t.Helper()
	w.Eventually(w.reason, soon, "50ms").Should(Equal(v1alpha1.ReasonMigrated), func() string { return w.condition().Message })
	w.Expect(w.stored()).To(Equal(map[string]int{"v1": n}))
	w.Expect(w.storedVersions()).To(Equal([]string{"v1"}))
}

// quick are options that suit tests: the settle time of an API server that is
// known not to lag, scoped to the test's own group.
func (w *world) quick() migration.Options {
	return migration.Options{
		Groups: []string{w.gr.Group}, Settle: time.Second, Registerer: prometheus.NewRegistry(), PageSize: 50,
	}
}

// controller runs the reconciler in a manager until the test ends or stop is
// called.
func (w *world) controller(opts migration.Options) (stop func()) {
	return w.controllerAt(cp.Config, opts)
}

func (w *world) controllerAt(cfg *rest.Config, opts migration.Options) (stop func()) {
	w.t.Helper()
	mgr, err := ctrl.NewManager(rest.CopyConfig(cfg), manager.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(migration.SetupWithManager(mgr, opts)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			w.Expect(<-done).To(Succeed())
		}
	}
	w.t.Cleanup(stop)
	return stop
}
