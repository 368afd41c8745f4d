package running

import (
	"cmp"
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/controllers/repair"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/test/controlplane"
)

// Quiet drops what the reconcilers log, unless MOULT_TEST_LOG is set. The logger is global: call it in TestMain.
func Quiet() {
	logger := logr.Discard()
	if os.Getenv("MOULT_TEST_LOG") != "" {
		logger = zap.New(zap.UseDevMode(true))
	}
	log.SetLogger(logger) // only the first call counts
}

// Quick are options that suit tests: only the CRDs of these groups, the settle time of an API server that is known not
// to lag, pages of 50 objects, and metrics of their own.
func Quick(groups ...string) migration.Options {
	return migration.Options{
		Groups: groups, Settle: time.Second, PageSize: 50, Registerer: prometheus.NewRegistry(), NewConverter: converters.Webhooks{}.For,
	}
}

// Migration runs the migration reconciler until the test ends or stop is called. Stop waits for it and may be called
// twice.
func Migration(t testing.TB, config *rest.Config, opts migration.Options) (stop func()) {
	t.Helper()
	return run(t, config, func(_ context.Context, mgr manager.Manager) error {
		return migration.SetupWithManager(mgr, opts)
	})
}

// Moult runs both reconcilers as Migration does the one, connected by a state store; the CRD of VersionRemovals must be there.
func Moult(t testing.TB, config *rest.Config, m migration.Options, r removal.Options) (stop func()) {
	t.Helper()
	NewWithT(t).Expect(len(r.Namespaces) > 0 || !controlplane.IsShared(config)).To(BeTrue(),
		"on a shared control plane it would answer the VersionRemovals of other tests: name its namespaces")
	if m.StateStore == nil {
		m.StateStore = migration.NewStateStore()
	}
	r.Migration, r.LabelKey, r.Groups = m.StateStore, m.LabelKey, m.Groups // as moult-controller connects them
	return run(t, config, func(ctx context.Context, mgr manager.Manager) error {
		if err := migration.SetupWithManager(mgr, m); err != nil {
			return err
		}
		losses, err := migration.NewLosses(mgr.GetConfig(), mgr.GetHTTPClient(), m)
		if err != nil {
			return err
		}
		r.Losses = losses
		return removal.SetupWithManager(ctx, mgr, r)
	})
}

// Repairing runs all reconcilers, as moult-controller does: Moult, and the repair of owner references and stashed copies in o.Cluster.
func Repairing(t testing.TB, config *rest.Config, m migration.Options, r removal.Options, o repair.Options) (stop func()) {
	t.Helper()
	store := migration.NewStateStore()
	m.MaxInFlight = cmp.Or(m.MaxInFlight, migration.DefaultMaxInFlight)
	m.StateStore, m.Pace, m.Room = store, m.NewPace(), rewrite.NewRoom()
	r.Migration, r.LabelKey, r.Groups = store, m.LabelKey, m.Groups
	o.Room, o.Migration, o.LabelKey, o.Groups, o.Pace, o.Registerer = m.Room, store, m.LabelKey, m.Groups, m.Pace, m.Registerer
	return run(t, config, func(ctx context.Context, mgr manager.Manager) error {
		if err := migration.SetupWithManager(mgr, m); err != nil {
			return err
		}
		losses, err := migration.NewLosses(mgr.GetConfig(), mgr.GetHTTPClient(), m)
		if err != nil {
			return err
		}
		o.Losses, r.Losses = losses, losses
		if err := repair.SetupWithManager(mgr, o); err != nil {
			return err
		}
		return removal.SetupWithManager(ctx, mgr, r)
	})
}

func run(t testing.TB, config *rest.Config, setup func(context.Context, manager.Manager) error) (stop func()) {
	t.Helper()
	g := NewWithT(t)
	mgr, err := ctrl.NewManager(rest.CopyConfig(config), manager.Options{
		Scheme: newScheme(g), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background()) // it ends before the test's own context
	t.Cleanup(cancel)
	g.Expect(setup(ctx, mgr)).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		g.Expect(<-ended).To(Succeed(), "the manager ended with an error")
	})
	t.Cleanup(stop)
	return stop
}

// Client reads and writes anything that Moult or its tests deal with, without a cache.
func Client(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	g := NewWithT(t)
	c, err := client.New(config, client.Options{Scheme: newScheme(g)})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

func newScheme(g Gomega) *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		g.Expect(add(s)).To(Succeed())
	}
	return s
}
