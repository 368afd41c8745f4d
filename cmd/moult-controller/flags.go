package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
)

type flags struct {
	metricsAddr     string
	pprof           bool
	healthAddr      string
	leaderNamespace string
	log             logger.Options
	leader          leaderelection.Options
	fence           fence
	eventsAddr      string
	migration       migration.Options
	removal         removal.Options
	references      references
	version         bool
}

// errUsage is the error of a wrong command line; it has said what to do.
var errUsage = errors.New("see moult-controller --help")

const usage = `moult-controller rewrites every stored object of CustomResourceDefinitions labelled
%s=%q at their storage version, proves it, trims
status.storedVersions and reports it in the condition %s.
It answers VersionRemovals: Ready when removing the versions they name is safe.

Usage:
  moult-controller [flags]

The cluster is that of $KUBECONFIG, or the one this runs in. Exit codes: 0 after a
signal, 1 if it cannot go on, 2 if the flags are wrong.

Flags:
%s`

// flagSet are all flags, with their defaults, which fill in f.
func flagSet(f *flags) *pflag.FlagSet {
	fs := pflag.NewFlagSet("moult-controller", pflag.ContinueOnError)
	fs.BoolVar(&f.version, "version", false, "Print the version and end.")
	fs.StringVar(&f.metricsAddr, "metrics-addr", ":8080", "Address the metrics endpoint binds to; 0 turns it off.")
	fs.BoolVar(&f.pprof, "pprof", false, "Serve profiles at the metrics address under /debug/pprof/. There is no authentication: a client that reaches the address can read the memory of the controller, and load it.")
	fs.StringVar(&f.healthAddr, "health-addr", ":9440", "Address the health probes bind to; 0 turns them off.")
	fs.StringVar(&f.leaderNamespace, "leader-election-namespace", os.Getenv("RUNTIME_NAMESPACE"), "Namespace of the leader election lease. Default: the namespace the controller runs in.")
	bindMigration(fs, f)
	bindRemoval(fs, f)
	f.log.BindFlags(fs)
	f.leader.BindFlags(fs)
	fs.Usage = func() {
		fmt.Fprintf(os.Stdout, usage, v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue, v1alpha1.StorageMigrated, fs.FlagUsages())
	}
	return fs
}

func parse(args []string) (*flags, error) {
	f := &flags{}
	fs := flagSet(f)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return nil, err
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q; everything is set by flags", fs.Arg(0))
	case err == nil:
		err = f.validate()
	}
	if err != nil {
		return nil, fmt.Errorf("%w; %w", err, errUsage)
	}
	return f, nil
}

func bindMigration(fs *pflag.FlagSet, f *flags) {
	o := &f.migration
	fs.StringVar(&o.LabelKey, "label-key", v1alpha1.MigrateLabel, "Label that opts a CRD in with the value \"true\".")
	fs.StringSliceVar(&o.Groups, "crd-groups", nil, "API groups to look after, on top of the label. Default: all.")
	fs.DurationVar(&o.Settle, "settle", migration.DefaultSettle, "How long after a change of the storage version an API server may still write at an older one. It is the longest of 34s and the API servers' --request-timeout (60s by default), plus how long one of them may lag or stand still. Objects are checked, and storedVersions is trimmed, only after that.")
	fs.IntVar(&o.MaxInFlight, "max-in-flight", migration.DefaultMaxInFlight, "Most writes under way at any moment, over all CRDs. Below that their number adapts to what the API server can take.")
	fs.Float64Var(&o.MaxQueued, "max-queued", throttle.DefaultMaxQueued, "Most writes that wait inside the API server, on average. Fewer keep it quick for others, more make the most of it.")
	fs.Float64Var(&o.MaxRate, "max-rate", 0, "Most writes per second, over all CRDs. 0 is no bound.")
	fs.BoolVar(&f.migration.Rehearse, "rehearse", false, "Ask the conversion webhooks, before the first write, what they would lose, and rewrite nothing (FieldsWouldBeLost) if they would lose something. The controller has to reach them.")
}

func bindRemoval(fs *pflag.FlagSet, f *flags) {
	fs.StringSliceVar(&f.removal.Namespaces, "gate-namespaces", nil, "Namespaces whose VersionRemovals are answered, and count towards VersionsRemovable of CRDs without the annotation moult.dev/gate-namespaces. Set it where tenants may create VersionRemovals. Default: all.")
	fs.DurationVar(&f.removal.SurveyInterval, "survey-interval", 10*time.Minute, "How often managedFields, and what else names versions, are looked through again while versions wait to be removed. It is also the longest pause before Moult tries again to move a remaining owner reference or stashed copy.")
	fs.BoolVar(&f.removal.RequestReconcile, "nudge", false, "Make the Flux Kustomization and its dependents, or the Argo CD Application, look again when a gate opens. Only one whose own inventory has the VersionRemoval does, and at most once a minute. Needs the Role in clusters/components/nudge.")
	fs.BoolVar(&f.references.look, "references", false, "Look through the cluster for what else names the versions that are to be removed. The worst is reported as warnings, and spec.require can ask for NoReferences and NoStashes. Needs the rights in clusters/components/references.")
	fs.StringSliceVar(&f.references.except, "references-except", nil, "Resources that are left out of that look, such as secrets or widgets.example.com. VersionRemovals report them as left out.")
	fs.StringVar(&f.references.places, "places", "", "Folder with places of your own where versions can lie, one in each file that ends in .yaml.")
	fs.StringVar(&f.eventsAddr, "events-addr", "", "Address of Flux's notification-controller for events about VersionRemovals.")
}

func (f *flags) validate() error {
	if err := start.Check(f.migration); err != nil {
		return err
	}
	switch {
	case f.removal.SurveyInterval <= 0:
		return fmt.Errorf("--survey-interval is %s; it must be longer than 0, for example 10m", f.removal.SurveyInterval)
	case !slices.Contains(logLevels, f.log.LogLevel):
		return fmt.Errorf("--log-level %q is none of %s; the usual one is info", f.log.LogLevel, strings.Join(logLevels, ", "))
	case !slices.Contains(logEncodings, f.log.LogEncoding):
		return fmt.Errorf("--log-encoding %q is none of %s; the usual one is json", f.log.LogEncoding, strings.Join(logEncodings, ", "))
	case f.leader.Enable && f.leaderNamespace == "" && !inCluster():
		return errors.New("--enable-leader-election needs --leader-election-namespace outside of a cluster, for example moult-system: the lease lies there")
	}
	if err := f.references.validate(); err != nil {
		return err
	}
	for _, namespace := range f.removal.Namespaces {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			return fmt.Errorf("--gate-namespaces names %q, which cannot be a namespace; write it like team-a, several with commas between: %s", namespace, strings.Join(problems, "; "))
		}
	}
	return f.validateAddresses()
}

// validateAddresses refuses what nothing can listen on, before anything is started.
func (f *flags) validateAddresses() error {
	for flag, address := range map[string]string{"metrics-addr": f.metricsAddr, "health-addr": f.healthAddr} {
		if address == "0" || address == "" {
			continue
		}
		if _, err := net.ResolveTCPAddr("tcp", address); err != nil {
			return fmt.Errorf("--%s %q cannot be listened on; write it like :8080 or 127.0.0.1:8080, or 0 to turn it off: %w", flag, address, err)
		}
	}
	return nil
}

// groups says which API groups are looked after.
func (f *flags) groups() string {
	if len(f.migration.Groups) == 0 {
		return "all"
	}
	return strings.Join(f.migration.Groups, ",")
}

// inCluster reports whether the namespace can be found out, as it can in a pod.
func inCluster() bool {
	_, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return err == nil
}

// What the logger takes; anything else it would silently replace.
var (
	logLevels    = []string{"trace", "debug", "info", "error"}
	logEncodings = []string{"json", "console"}
)
