// Command moult-controller migrates the stored objects of opted-in
// CustomResourceDefinitions and says so in their StorageMigrated condition.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/fluxcd/pkg/runtime/pprof"
	"github.com/fluxcd/pkg/runtime/probes"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moult-dev/moult/controllers/migration"
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
	if err := migration.SetupWithManager(mgr, f.migration); err != nil {
		return fmt.Errorf("setting up the migration controller: %w", err)
	}
	probes.SetupChecks(mgr, ctrl.Log)
	return mgr.Start(ctx)
}

func newManager(cfg *rest.Config, f *flags) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
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
