// Command moult-controller migrates the stored objects of opted-in
// CustomResourceDefinitions, says so in their StorageMigrated condition, and
// answers VersionRemovals.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
)

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "moult-controller:", err)
		os.Exit(1)
	}
}

// run starts the manager and blocks until ctx ends or the lease is lost.
func run(ctx context.Context, args []string) error {
	f, err := parse(args)
	if err != nil {
		return err
	}
	logger.SetLogger(logger.NewLogger(f.log))
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no cluster to talk to; set KUBECONFIG or run in a cluster: %w", err)
	}
	mgr, err := newManager(cfg, f)
	if err != nil {
		return err
	}
	if err := setup(mgr, f); err != nil {
		return err
	}
	probes.SetupChecks(mgr, ctrl.Log)
	return mgr.Start(ctx)
}

// setup adds both reconcilers and connects them.
func setup(mgr manager.Manager, f *flags) error {
	board := migration.NewBoard()
	f.migration.Board = board
	if err := migration.SetupWithManager(mgr, f.migration); err != nil {
		return fmt.Errorf("setting up the migration controller: %w", err)
	}
	f.removal.Migration, f.removal.LabelKey, f.removal.Groups = board, f.migration.LabelKey, f.migration.Groups
	if f.eventsAddr != "" {
		recorder, err := events.NewRecorder(mgr, ctrl.Log, f.eventsAddr, "moult-controller")
		if err != nil {
			return fmt.Errorf("--events-addr %q: %w", f.eventsAddr, err)
		}
		f.removal.Recorder = recorder
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return openGate(ctx, mgr, f.removal) }))
}

// openGate starts the removal controller as soon as the API server serves
// VersionRemovals. Without their CRD there is nothing to answer, and no reason
// not to migrate.
func openGate(ctx context.Context, mgr manager.Manager, opts removal.Options) error {
	kind := schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "VersionRemoval"}
	for told := false; ; told = true {
		if _, err := mgr.GetRESTMapper().RESTMapping(kind, v1alpha1.GroupVersion.Version); err == nil {
			break
		} else if !told {
			ctrl.Log.Info("VersionRemovals are not answered yet: their CRD is not installed (clusters/base/crds)", "reason", err.Error())
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

// gatePoll is how often the CRD of VersionRemovals is looked for.
const gatePoll = 5 * time.Second

func newManager(cfg *rest.Config, f *flags) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	// The passes are paced by their own budget and the API server's answers, and
	// everything else is a handful of requests.
	cfg.QPS, cfg.Burst = -1, -1
	cfg.UserAgent = "moult-controller"
	return ctrl.NewManager(cfg, manager.Options{
		Scheme: scheme,
		Metrics: metricsserver.Options{
			BindAddress:   f.metricsAddr,
			ExtraHandlers: pprof.GetHandlers(),
		},
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
