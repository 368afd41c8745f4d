// Command embed is an operator that brings its own migration: users of its CRDs need not install Moult.
//
// The one line that matters is migration.SetupWithManager. The operator's own label keeps it apart from a Moult that may
// be installed beside it, and its own group keeps it away from everybody else's CRDs.
package main

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/controllers/migration"
)

const (
	group    = "widgets.example.com"
	labelKey = group + "/migrate"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

func run() error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := newManager(cfg, manager.Options{LeaderElection: true, LeaderElectionID: "widgets-operator"}, migration.Options{})
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

// newManager is the operator: its own controllers would be added here, too.
func newManager(cfg *rest.Config, opts manager.Options, migrate migration.Options) (manager.Manager, error) {
	mgr, err := ctrl.NewManager(cfg, opts)
	if err != nil {
		return nil, err
	}
	migrate.LabelKey, migrate.Groups, migrate.NewConverter = labelKey, []string{group}, converters.Webhooks{}.For
	return mgr, migration.SetupWithManager(mgr, migrate)
}
