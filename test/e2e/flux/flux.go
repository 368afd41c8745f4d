// Package flux runs the real kustomize-controller of Flux as built by `make e2e-tools`. Sources come from the test
// itself, the way upstream's own suite does it: an archive served over loopback and a GitRepository whose status names
// it, so that no source-controller is needed.
//
//	f, err := flux.Start(ctx, config, flux.Options{LogDir: dir})
//	defer f.Stop()
//	source, err := f.NewSource(ctx, "repo")
//	revision, err := source.Push(ctx, map[string]string{"apps/config.yaml": "…"})
//	err = f.CreateKustomization(ctx, "apps", source, "path: ./apps")
//	story.Begin(t).Await("applied", time.Minute, f.ReadyAt("apps", revision))
//
// Times to expect: a health check looks every 5 s, whatever is set; a Kustomization that waits for another looks again
// after Options.RequeueDependency or when RequestReconcile asks it to; a timeout below 30 s counts as 30 s.
package flux

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/process"
	"github.com/moult-dev/moult/test/e2e/tools"
)

// Namespace holds the sources and Kustomizations.
const Namespace = "flux-system"

// Options are what tests differ in.
type Options struct {
	// RequeueDependency is how long a Kustomization waits before it looks at its dependencies again. 0 means 5 s;
	// Flux' own default is 30 s.
	RequeueDependency time.Duration
	// FeatureGates of kustomize-controller, for example CancelHealthCheckOnNewRevision.
	FeatureGates map[string]bool
	// LogDir is an existing folder for the log, appended to. Empty means a temporary one, removed by Stop.
	LogDir string
}

// Flux is a running kustomize-controller with what serves its sources.
type Flux struct {
	client     client.Client
	work       string
	archives   *archives
	server     *httptest.Server
	controller *process.Process
	begin      func(context.Context) error
}

// Start installs Flux' CRDs and starts the controller; its workers run after about 8 s. ctx limits the start only.
// The error tells what is missing and ends with the controller's log. Nothing runs on after an error.
func Start(ctx context.Context, config *rest.Config, options Options) (*Flux, error) {
	flux := &Flux{}
	if err := flux.start(ctx, config, options); err != nil {
		flux.Stop()
		return nil, err
	}
	return flux, nil
}

func (f *Flux) start(ctx context.Context, config *rest.Config, options Options) error {
	program, err := tools.KustomizeController()
	if err != nil {
		return err
	}
	if f.client, err = cluster.NewClient(config); err != nil {
		return err
	}
	if err := install(ctx, f.client, program); err != nil {
		return err
	}
	if f.work, err = os.MkdirTemp("", "moult-e2e-flux-"); err != nil {
		return err
	}
	if options.LogDir == "" {
		options.LogDir = f.work
	}
	kubeconfig := filepath.Join(f.work, "kubeconfig")
	if err := cluster.WriteKubeconfig(config, kubeconfig); err != nil {
		return err
	}
	f.archives = &archives{}
	f.server = httptest.NewServer(f.archives)
	f.begin = func(ctx context.Context) error { return f.startController(ctx, program, kubeconfig, options) }
	return f.begin(ctx)
}

// Restart ends kustomize-controller and starts it anew, so that it forgets which versions a CRD had.
func (f *Flux) Restart(ctx context.Context) error {
	f.controller.Stop()
	return f.begin(ctx)
}

func install(ctx context.Context, c client.Client, program tools.Tool) error {
	sourceController, err := tools.SourceController()
	if err != nil {
		return err
	}
	for _, folder := range []string{program.Source, sourceController} {
		if err := cluster.ApplyCRDs(ctx, c, filepath.Join(folder, "config", "crd", "bases", "*.yaml")); err != nil {
			return err
		}
	}
	return cluster.Apply(ctx, c, cluster.Object("v1", "Namespace", "", Namespace))
}

func (f *Flux) startController(ctx context.Context, program tools.Tool, kubeconfig string, options Options) error {
	ports, err := process.FreePorts(2)
	if err != nil {
		return err
	}
	f.controller, err = process.Start(process.Command{
		Name:   "kustomize-controller",
		Path:   program.Binary,
		Args:   arguments(process.Loopback(ports[0]), process.Loopback(ports[1]), options),
		Env:    []string{"RUNTIME_NAMESPACE=" + Namespace, "KUBECONFIG=" + kubeconfig, "TMPDIR=" + f.work},
		LogDir: options.LogDir, Scratch: f.work,
	})
	if err != nil {
		return err
	}
	// /readyz says yes seconds before anything is reconciled.
	return f.controller.Await(ctx, "its workers run", f.controller.Logged("Starting workers"))
}

// arguments has 20 workers, because each waiting Kustomization occupies one.
func arguments(metrics, health string, options Options) []string {
	if options.RequeueDependency == 0 {
		options.RequeueDependency = 5 * time.Second
	}
	var gates []string
	for gate, on := range options.FeatureGates {
		gates = append(gates, fmt.Sprintf("%s=%t", gate, on))
	}
	slices.Sort(gates)
	return []string{
		"--metrics-addr=" + metrics, "--health-addr=" + health,
		"--concurrent=20", "--interval-jitter-percentage=0", "--log-level=debug",
		"--requeue-dependency=" + options.RequeueDependency.String(),
		"--feature-gates=" + strings.Join(gates, ","),
	}
}

// Stop ends the controller and removes its working folder. What is in the control plane stays. It may be called often.
func (f *Flux) Stop() {
	f.controller.Stop()
	if f.server != nil {
		f.server.Close()
	}
	if f.work != "" {
		_ = os.RemoveAll(f.work) // what is left lies in the system's temporary folder
	}
}

// LogTail is the last lines of the controller's log, for a test that has failed.
func (f *Flux) LogTail(lines int) string { return f.controller.Tail(lines) }
