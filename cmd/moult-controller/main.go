// Command moult-controller migrates the stored objects of opted-in
// CustomResourceDefinitions, reports it in their StorageMigrated condition, and
// answers VersionRemovals.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"runtime/debug"
	"time"

	"github.com/fluxcd/pkg/runtime/events"
	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/fluxcd/pkg/runtime/pprof"
	"github.com/fluxcd/pkg/runtime/probes"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/controllers/repair"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/controllers/timeline"
)

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "moult-controller:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// run does what the arguments say, and blocks until ctx ends or the lease is lost.
func run(ctx context.Context, args []string) error {
	f, err := parse(args)
	if err != nil {
		return err
	}
	if f.version {
		fmt.Println("moult-controller", start.Version())
		return nil
	}
	logger.SetLogger(logger.NewLogger(f.log))
	leaveMemory()
	return explain(serve(ctx, f), f)
}

// leaveMemory has the Go runtime use a fifth less than GOMEMLIMIT, which is the container's limit. The kernel counts more than the runtime
// does, and the runtime may go beyond its limit for a moment: by 20 MiB when large objects are decoded.
func leaveMemory() {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		debug.SetMemoryLimit(limit / 5 * 4)
	}
}

// serve sets the manager up and runs it.
func serve(ctx context.Context, f *flags) error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no cluster to talk to; set KUBECONFIG or run in a cluster: %w", err)
	}
	mgr, err := newManager(cfg, f)
	if err != nil {
		return fmt.Errorf("setting up the manager: %w", err)
	}
	ctrl.Log.Info("starting moult-controller", "version", start.Version(), "settle", f.migration.Settle.String(),
		"label", f.migration.LabelKey, "groups", f.groups(), "cluster", cfg.Host)
	if err := setup(mgr, f); err != nil {
		return err
	}
	probes.SetupChecks(mgr, ctrl.Log)
	return mgr.Start(ctx)
}

// explain puts what to do before an error whose cause is outside of us.
func explain(err error, f *flags) error {
	listening := (*net.OpError)(nil)
	switch {
	case errors.As(err, &listening) && listening.Op == "listen":
		return fmt.Errorf("--metrics-addr %s or --health-addr %s cannot be listened on; choose another address, or 0 to turn it off: %w", f.metricsAddr, f.healthAddr, err)
	case errors.As(err, new(*url.Error)):
		return start.NoAnswer("KUBECONFIG, or the network of the pod", err)
	default:
		return err
	}
}

// setup adds the reconcilers and connects them.
func setup(mgr manager.Manager, f *flags) error {
	leases, err := rest.UnversionedRESTClientForConfigAndClient(unversioned(mgr.GetConfig()), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("setting up the watch for restores of etcd: %w", err)
	}
	history, err := timeline.New(mgr.GetConfig(), mgr.GetHTTPClient(), f.fence.reread(leases))
	if err != nil {
		return fmt.Errorf("setting up the watch for restores of etcd: %w", err)
	}
	if err := mgr.Add(history); err != nil {
		return err
	}
	store := migration.NewStateStore()
	f.migration.StateStore, f.migration.Pace, f.migration.Room = store, f.migration.NewPace(), rewrite.NewRoom()
	f.migration.Timeline, f.removal.Timeline = history, history
	f.migration.NewConverter = converters.Webhooks{}.For
	if err := migration.SetupWithManager(mgr, f.migration); err != nil {
		return fmt.Errorf("setting up the migration controller: %w", err)
	}
	if f.removal.Losses, err = migration.NewLosses(mgr.GetConfig(), mgr.GetHTTPClient(), f.migration); err != nil {
		return fmt.Errorf("setting up the look for fields that would be lost: %w", err)
	}
	if err := setupRepair(mgr, f, store); err != nil {
		return fmt.Errorf("setting up the repair of owner references and stashed copies: %w", err)
	}
	f.removal.Migration, f.removal.LabelKey, f.removal.Groups = store, f.migration.LabelKey, f.migration.Groups
	if f.removal.References, err = f.references.in(mgr.GetConfig()); err != nil {
		return fmt.Errorf("setting up the look for references: %w", err)
	}
	if f.eventsAddr != "" {
		recorder, err := events.NewRecorder(mgr, ctrl.Log, f.eventsAddr, "moult-controller")
		if err != nil {
			return fmt.Errorf("--events-addr %q: %w", f.eventsAddr, err)
		}
		f.removal.Recorder = recorder
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return openGate(ctx, mgr, f.removal) }))
}

// setupRepair adds the reconcilers of owner references and stashed copies, which do nothing for CRDs that do not ask for it.
func setupRepair(mgr manager.Manager, f *flags, store *migration.StateStore) error {
	cluster, err := inspect.Connect(mgr.GetConfig())
	if err != nil {
		return err
	}
	return repair.SetupWithManager(mgr, repair.Options{
		Migration: store, Cluster: inspect.Pages{Cluster: cluster}, Places: f.references.all,
		NewConverter: func() embeddedcopies.Converter { return &converters.Copies{GetCRD: cluster.GetCRD} }, LabelKey: f.migration.LabelKey, Groups: f.migration.Groups,
		Interval: f.removal.SurveyInterval, Pace: f.migration.Pace, Room: f.migration.Room, Losses: f.removal.Losses,
	})
}

// openGate starts the removal controller as soon as the API server serves
// VersionRemovals. Without their CRD there is nothing to answer, and no reason
// not to migrate.
func openGate(ctx context.Context, mgr manager.Manager, opts removal.Options) error {
	served, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	for told := false; ; told = true {
		if _, err := served.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String()); err == nil {
			break
		} else if !told {
			ctrl.Log.Info("VersionRemovals are not answered until their CRD is installed (clusters/base/crds)", "reason", err.Error())
		}
		select {
		case <-time.After(gatePoll):
		case <-ctx.Done():
			return nil
		}
	}
	if err := removal.SetupWithManager(ctx, mgr, opts); err != nil {
		return fmt.Errorf("setting up the removal controller: %w", err)
	}
	return nil
}

// unversioned is for requests by their path.
func unversioned(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.GroupVersion, cfg.NegotiatedSerializer = &schema.GroupVersion{}, clientgoscheme.Codecs.WithoutConversion()
	return cfg
}

// gatePoll is how often the CRD of VersionRemovals is looked for.
const gatePoll = 5 * time.Second

func newManager(cfg *rest.Config, f *flags) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	// The passes are paced by their own budget and the API server's answers, and
	// everything else is a handful of requests.
	cfg.QPS, cfg.Burst = -1, -1
	cfg.UserAgent = start.UserAgent("moult-controller")
	cfg.WarningHandler = rest.NoWarnings{} // of deprecated versions: one per object, and they are why we are here
	if f.leader.Enable {
		f.fence.lease, f.fence.clock = f.leader.LeaseDuration, clock.RealClock{}
		cfg.Wrap(f.fence.around)
	}
	registerBuild()
	metrics := metricsserver.Options{BindAddress: f.metricsAddr}
	if f.pprof {
		metrics.ExtraHandlers = pprof.GetHandlers()
	}
	return ctrl.NewManager(cfg, manager.Options{
		Scheme:                        scheme,
		Metrics:                       metrics,
		HealthProbeBindAddress:        f.healthAddr,
		LeaderElection:                f.leader.Enable,
		LeaderElectionReleaseOnCancel: f.leader.ReleaseOnCancel,
		LeaseDuration:                 &f.leader.LeaseDuration,
		RenewDeadline:                 &f.leader.RenewDeadline,
		RetryPeriod:                   &f.leader.RetryPeriod,
		LeaderElectionID:              leaderelection.GenerateID("moult-controller", f.migration.LabelKey),
		LeaderElectionNamespace:       f.leaderNamespace,
	})
}
