package main

import (
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/spf13/pflag"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
)

type flags struct {
	metricsAddr     string
	healthAddr      string
	leaderNamespace string
	log             logger.Options
	leader          leaderelection.Options
	eventsAddr      string
	migration       migration.Options
	removal         removal.Options
}

const usage = `moult-controller rewrites every stored object of CustomResourceDefinitions labelled
%s=%q at their storage version, proves it, trims
status.storedVersions and says so in the condition %s.
It answers VersionRemovals: Ready when removing the versions they name is safe.

Usage:
  moult-controller [flags]

Flags:
%s`

func parse(args []string) (*flags, error) {
	f := &flags{}
	fs := pflag.NewFlagSet("moult-controller", pflag.ContinueOnError)
	fs.StringVar(&f.metricsAddr, "metrics-addr", ":8080", "Address the metrics and pprof endpoints bind to; 0 turns them off.")
	fs.StringVar(&f.healthAddr, "health-addr", ":9440", "Address the health probes bind to; 0 turns them off.")
	fs.StringVar(&f.leaderNamespace, "leader-election-namespace", os.Getenv("RUNTIME_NAMESPACE"), "Namespace of the leader election lease. Default: the namespace the controller runs in.")
	bindMigration(fs, &f.migration)
	bindRemoval(fs, f)
	f.log.BindFlags(fs)
	f.leader.BindFlags(fs)
	fs.Usage = func() {
		fmt.Fprintf(os.Stdout, usage, v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue, v1alpha1.StorageMigrated, fs.FlagUsages())
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; everything is set by flags, see --help", fs.Arg(0))
	}
	return f, f.validate()
}

func bindMigration(fs *pflag.FlagSet, o *migration.Options) {
	fs.StringVar(&o.LabelKey, "label-key", v1alpha1.MigrateLabel, "Label that opts a CRD in with the value \"true\".")
	fs.StringSliceVar(&o.Groups, "crd-groups", nil, "API groups to look after, on top of the label. Default: all.")
	fs.DurationVar(&o.Settle, "settle", migration.DefaultSettle, "How long after a change of the storage version an API server may still write at an older one. Objects are checked, and storedVersions is trimmed, only after that.")
	fs.IntVar(&o.MaxInFlight, "max-in-flight", migration.DefaultMaxInFlight, "Writes under way at any moment, over all CRDs.")
}

func bindRemoval(fs *pflag.FlagSet, f *flags) {
	fs.StringSliceVar(&f.removal.Namespaces, "gate-namespaces", nil, "Namespaces whose VersionRemovals are answered. Default: all.")
	fs.DurationVar(&f.removal.SurveyInterval, "survey-interval", 10*time.Minute, "How often the objects' managedFields are looked through again while versions wait to be removed.")
	fs.BoolVar(&f.removal.Nudge, "nudge", false, "Make the Flux Kustomization and its dependents, or the Argo CD Application, look again when a gate opens. Needs the Role in clusters/components/nudge.")
	fs.StringVar(&f.eventsAddr, "events-addr", "", "Address of Flux's notification-controller for events about VersionRemovals.")
}

func (f *flags) validate() error {
	if f.migration.Settle <= 0 {
		return fmt.Errorf("--settle is %s; it must be longer than 0, because without it a write at an old version can land unseen after the proof", f.migration.Settle)
	}
	if f.migration.MaxInFlight <= 0 {
		return fmt.Errorf("--max-in-flight is %d; at least 1 write must be allowed", f.migration.MaxInFlight)
	}
	return nil
}
