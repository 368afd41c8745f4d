package argocd

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moult-dev/moult/test/e2e/process"
	"github.com/moult-dev/moult/test/e2e/tools"
)

// verifyWrapper stands in for the script of that name in Argo CD's image. The repo server runs it at every checkout to
// ask for a commit's signature, which nobody here makes; without it every Application is in error.
//
//go:embed git-verify-wrapper.sh
var verifyWrapper []byte

func (a *ArgoCD) startServers(ctx context.Context, argocd tools.Tool, renderers []tools.Tool, options Options) error {
	environment, err := a.environment(renderers)
	if err != nil {
		return err
	}
	if a.redis, err = startRedis(); err != nil {
		return err
	}
	ports, err := process.FreePorts(3)
	if err != nil {
		return err
	}
	repoAddress := process.Loopback(ports[0])
	repoServer, err := a.program(argocd, "argocd-repo-server")
	if err != nil {
		return err
	}
	controller, err := a.program(argocd, "argocd-application-controller")
	if err != nil {
		return err
	}

	a.repoServer, err = process.Start(process.Command{
		Name:   "argocd-repo-server",
		Path:   repoServer,
		Args:   repoServerArgs(ports[0], ports[1], a.redis.server.Addr()),
		Env:    environment,
		LogDir: options.LogDir, Scratch: a.work,
	})
	if err != nil {
		return err
	}
	a.controller, err = process.Start(process.Command{
		Name: "argocd-application-controller",
		Path: controller,
		Args: controllerArgs(a.kubeconfig(), repoAddress, ports[2], a.redis.server.Addr()),
		Env: append(environment,
			"HOSTNAME=argocd-application-controller-0", // of a StatefulSet, which tells its shard
			fmt.Sprintf("ARGOCD_SYNC_WAVE_DELAY=%d", int(options.WaveDelay.Seconds())),
			"ARGOCD_FAKE_IN_CLUSTER=true", "KUBECONFIG="+a.kubeconfig(), // the cluster that Applications are synced to
		),
		LogDir: options.LogDir, Scratch: a.work,
	})
	if err != nil {
		return err
	}
	if err := a.repoServer.Await(ctx, "it listens", process.Listening(repoAddress)); err != nil {
		return err
	}
	health := fmt.Sprintf("http://%s/healthz", process.Loopback(ports[2]))
	if err := a.controller.Await(ctx, "it is healthy", process.Answering(health)); err != nil {
		return err
	}
	if options.ApplicationSets == NoApplicationSets {
		return nil
	}
	return a.startApplicationSets(ctx, argocd, repoAddress, environment, options)
}

// startApplicationSets comes last: the controller of ApplicationSets asks the repo server for folders.
func (a *ArgoCD) startApplicationSets(ctx context.Context, argocd tools.Tool, repoServer string, environment []string, options Options) error {
	program, err := a.program(argocd, "argocd-applicationset-controller")
	if err != nil {
		return err
	}
	ports, err := process.FreePorts(3)
	if err != nil {
		return err
	}
	metrics := process.Loopback(ports[0])
	a.applicationSets, err = process.Start(process.Command{
		Name: "argocd-applicationset-controller",
		Path: program,
		Args: []string{
			"--namespace=" + Namespace,
			"--argocd-repo-server=" + repoServer, "--repo-server-plaintext",
			"--metrics-addr=" + metrics, "--probe-addr=" + process.Loopback(ports[1]), "--webhook-addr=" + process.Loopback(ports[2]),
			fmt.Sprintf("--enable-progressive-syncs=%t", options.ApplicationSets == WithProgressiveSyncs),
			"--logformat=text",
		},
		Env:    append(environment, "ARGOCD_FAKE_IN_CLUSTER=true", "KUBECONFIG="+a.kubeconfig()),
		LogDir: options.LogDir, Scratch: a.work,
	})
	if err != nil {
		return err
	}
	return a.applicationSets.Await(ctx, "it listens", process.Listening(metrics))
}

// program is a link to the one program, named as in Argo CD's image. By its name a program knows which server it is, and
// the API server whose an object is that was replaced: then Argo CD does not name its field manager.
func (a *ArgoCD) program(argocd tools.Tool, name string) (string, error) {
	link := filepath.Join(a.work, "bin", name)
	return link, os.Symlink(argocd.Binary, link)
}

// environment makes the folders and programs the servers expect at fixed places in Argo CD's image.
func (a *ArgoCD) environment(renderers []tools.Tool) ([]string, error) {
	folder := func(name string) string { return filepath.Join(a.work, name) }
	for _, name := range []string{"bin", "tls", "ssh", "tmp", "home"} {
		if err := os.Mkdir(folder(name), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(folder("bin"), "git-verify-wrapper.sh"), verifyWrapper, 0o755); err != nil {
		return nil, err
	}
	path := []string{folder("bin")}
	for _, renderer := range renderers {
		path = append(path, filepath.Dir(renderer.Binary))
	}
	return []string{
		"PATH=" + strings.Join(append(path, os.Getenv("PATH")), string(os.PathListSeparator)),
		"HOME=" + folder("home"),
		"TMPDIR=" + folder("tmp"),
		"ARGOCD_TLS_DATA_PATH=" + folder("tls"),
		"ARGOCD_SSH_DATA_PATH=" + folder("ssh"),
		"ARGOCD_GPG_ENABLED=false",
		"REDIS_PASSWORD=",
	}, nil
}

func repoServerArgs(port, metricsPort int, redis string) []string {
	return []string{
		"--address=127.0.0.1", fmt.Sprintf("--port=%d", port),
		"--metrics-address=127.0.0.1", fmt.Sprintf("--metrics-port=%d", metricsPort),
		"--redis=" + redis,
		"--disable-tls", "--client-ca-path=",
		"--revision-cache-expiration=1s",
		"--logformat=text", "--loglevel=warn", // at info it tells of every request
	}
}

// controllerArgs leaves the metrics port open on all interfaces: the controller has no flag to bind it to one.
func controllerArgs(kubeconfig, repoServer string, metricsPort int, redis string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig, "--namespace=" + Namespace,
		"--redis=" + redis,
		"--repo-server=" + repoServer, "--repo-server-plaintext",
		"--app-resync=5", "--app-resync-jitter=0",
		"--persist-resource-health", // else each resource's health is in Redis only
		"--logformat=text",
		fmt.Sprintf("--metrics-port=%d", metricsPort),
	}
}
