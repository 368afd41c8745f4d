// Package argocd runs the real Argo CD without its user interface: application controller and repo server as built by
// `make e2e-tools`, the ApplicationSet controller if a test asks for it, and an in-process stand-in for Redis.
// Applications come from Git repositories on disk.
//
//	argo, err := argocd.Start(ctx, config, argocd.Options{LogDir: dir, Settings: healthChecks})
//	defer argo.Stop()
//	repo := argocd.NewRepo(t)
//	repo.Commit(map[string]string{"app/config.yaml": "…"}, "first")
//	err = argo.CreateApplication(ctx, "app", repo, "app")
//	err = argo.Sync(ctx, "app")
//	story.Begin(t).Await("synced", time.Minute, argo.OperationIs("app", argocd.Succeeded, ""))
//
// What differs from an installation, for the sake of speed: no pause between sync waves unless asked for, a comparison
// every 5 s instead of 120 s, a repository's newest commit looked up each second. There is no garbage collector in such a
// control plane, so pruning deletes in the background.
package argocd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/process"
	"github.com/moult-dev/moult/test/e2e/tools"
)

// Namespace holds Argo CD's settings and all Applications.
const Namespace = "argocd"

// Options are what tests differ in.
type Options struct {
	// Settings are entries of the ConfigMap argocd-cm, for example
	// resource.customizations.health.<group>_<Kind>: a Lua script.
	Settings map[string]string
	// WaveDelay is the pause after each sync wave, in whole seconds. 0 is none; Argo CD's own default is 2 s, which is
	// more than cosmetics: its picture of the cluster lags by some 100 ms, and without a pause it may take the health
	// that an object had before the sync for its health after it.
	WaveDelay time.Duration
	// ApplicationSets says whether the controller of ApplicationSets runs, and how.
	ApplicationSets ApplicationSets
	// LogDir is an existing folder for the servers' logs, appended to. Empty means a temporary one, removed by Stop.
	LogDir string
}

// ApplicationSets says how the controller of ApplicationSets runs. The set is closed.
type ApplicationSets int

const (
	// NoApplicationSets: it does not run, and nothing comes of an ApplicationSet.
	NoApplicationSets ApplicationSets = iota
	// AsInstalled: it runs as Argo CD's own manifests start it, which ignores the strategy of an ApplicationSet.
	AsInstalled
	// WithProgressiveSyncs: it runs with --enable-progressive-syncs, so that the strategy RollingSync counts.
	WithProgressiveSyncs
)

// ArgoCD is a running Argo CD.
type ArgoCD struct {
	client     client.Client
	work       string
	redis      *redis
	repoServer *process.Process
	controller *process.Process
	// applicationSets is nil unless a test asks for it.
	applicationSets *process.Process
}

// Start installs Argo CD's CRDs and settings and starts its servers; ready in about 8 s. ctx limits the start only.
// The error tells what is missing and ends with the log of the server that failed. Nothing runs on after an error.
func Start(ctx context.Context, config *rest.Config, options Options) (*ArgoCD, error) {
	argo := &ArgoCD{}
	if err := argo.start(ctx, config, options); err != nil {
		argo.Stop()
		return nil, err
	}
	return argo, nil
}

func (a *ArgoCD) start(ctx context.Context, config *rest.Config, options Options) error {
	program, err := tools.ArgoCD()
	if err != nil {
		return err
	}
	kustomize, err := tools.Kustomize()
	if err != nil {
		return err
	}
	helm, err := tools.Helm()
	if err != nil {
		return err
	}
	if a.client, err = cluster.NewClient(config); err != nil {
		return err
	}
	if err := install(ctx, a.client, program.Source, options.Settings); err != nil {
		return err
	}
	if a.work, err = os.MkdirTemp("", "moult-e2e-argocd-"); err != nil {
		return err
	}
	if options.LogDir == "" {
		options.LogDir = a.work
	}
	if err := cluster.WriteKubeconfig(config, a.kubeconfig()); err != nil {
		return err
	}
	return a.startServers(ctx, program, []tools.Tool{kustomize, helm}, options)
}

func (a *ArgoCD) kubeconfig() string { return filepath.Join(a.work, "kubeconfig") }

// Stop ends the servers and removes their working folders. What is in the control plane stays. It may be called often.
func (a *ArgoCD) Stop() {
	a.applicationSets.Stop()
	a.controller.Stop()
	a.repoServer.Stop()
	a.redis.close()
	a.redis = nil
	if a.work != "" {
		_ = removeAll(a.work) // what is left lies in the system's temporary folder
	}
}

// LogTail is the last lines of the servers' logs, for a test that has failed.
func (a *ArgoCD) LogTail(lines int) string {
	return a.repoServer.Tail(lines) + a.controller.Tail(lines) + a.applicationSets.Tail(lines)
}

// removeAll opens folders first: the repo server takes the right to list them even from itself.
func removeAll(root string) error {
	opening := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return err
	})
	return errors.Join(opening, os.RemoveAll(root))
}
