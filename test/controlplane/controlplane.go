// Package controlplane runs a real kube-apiserver on a real etcd for tests and the demo, in about three seconds, and
// reads etcd behind the server's back: what Moult claims is judged by the stored bytes.
//
// A test package starts one control plane for all its tests:
//
//	var cp *controlplane.ControlPlane
//
//	func TestMain(m *testing.M) { controlplane.Run(m, &cp) }
//
// and its tests, which may run in parallel, keep apart by API group (builders.UniqueGroup). `make test` starts one control
// plane for all packages, and they attach to it (EnvShared); a package that needs one to itself says why (Own).
// SecondAPIServer adds a server on the same etcd, and Pause makes either of them lag, as they do in a highly available
// cluster. The programs come from `make control-plane` or from the folder KUBEBUILDER_ASSETS names.
//
// There is no controller manager: no garbage collection, no namespace deletion, no Jobs. Everything listens on
// 127.0.0.1 only, lies in one temporary folder and goes away with the process that started it, however that one ends.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/moult-dev/moult/test/controlplane/assets"
)

// patience bounds the start and, separately, the stop of each program. Both take seconds, unless the machine is very
// busy with other things.
const patience = 2 * time.Minute

// ControlPlane is a running etcd with one or more API servers. Its methods may be called concurrently.
type ControlPlane struct {
	// Config reaches the first API server as a cluster admin, without any client-side rate limit. Copy it to change it.
	Config *rest.Config
	// Minor is the minor version of the API servers, 36 for Kubernetes 1.36: what they lack, a test asserts too.
	Minor int

	attached bool // to one that another process has started
	options  options
	files    *files
	guard    *guard
	env      *envtest.Environment
	etcd     *Etcd
	first    *APIServer

	mu       sync.Mutex
	others   []*APIServer
	stopped  bool
	stopping error
}

// Start starts etcd and kube-apiserver and returns when the server is ready. The caller must Stop it; should the
// process die instead, both are ended all the same. The error says what to run when the programs are missing, and
// otherwise where they failed, with the end of their logs.
func Start(opts ...Option) (cp *ControlPlane, err error) {
	for range 3 {
		if cp, err = start(opts); err == nil || !strings.Contains(err.Error(), "address already in use") {
			break // only a port that somebody else was quicker to take is worth another try
		}
	}
	return cp, err
}

func start(opts []Option) (*ControlPlane, error) {
	found, err := assets.Locate()
	if err != nil {
		return nil, err
	}
	if err := found.Check(); err != nil {
		return nil, err
	}
	files, err := newFiles(found.Dir)
	if err != nil {
		return nil, err
	}
	guard, err := startGuard(files.dir)
	if err != nil {
		return nil, errors.Join(err, files.remove())
	}

	cp := &ControlPlane{options: newOptions(opts), files: files, guard: guard}
	if err := cp.start(); err != nil {
		err = fmt.Errorf("control plane in %s did not start: %w\n%s", files.dir, err, files.lastLogLines())
		return nil, errors.Join(err, cp.Stop())
	}
	return cp, nil
}

func (cp *ControlPlane) start() error {
	env, err := cp.newEnvironment()
	if err != nil {
		return err
	}
	cp.env = env
	config, err := env.Start()
	if err != nil {
		return err
	}
	if err := env.WebhookInstallOptions.Cleanup(); err != nil { // envtest's certificates for webhooks are not used here
		return err
	}
	config.QPS = -1
	cp.Config = config
	if err := cp.files.authenticate(cp.Config); err != nil {
		return err
	}

	cp.first = &APIServer{Config: rest.CopyConfig(config), server: env.ControlPlane.APIServer, pidFile: cp.files.pid(apiServerName)}
	if err := waitReady(cp.first.Config); err != nil {
		return err
	}
	if cp.Minor, err = minorOf(cp.Config); err != nil {
		return err
	}
	cp.etcd, err = newEtcd(env.ControlPlane.Etcd.URL.String())
	return err
}

// newEnvironment sets every path, so that nothing of a developer's environment redirects the tests to another cluster.
func (cp *ControlPlane) newEnvironment() (*envtest.Environment, error) {
	etcd := &envtest.Etcd{Path: cp.files.program(etcdName), DataDir: cp.files.path("etcd")}
	server := &envtest.APIServer{Path: cp.files.program(apiServerName), CertDir: cp.files.path("certs")}
	tokens, err := cp.files.tokens()
	if err != nil {
		return nil, err
	}
	cp.options.flags["token-auth-file"] = []string{tokens}
	cp.options.configure(server)
	if etcd.Out, err = cp.files.log(etcdName, cp.options.output); err != nil {
		return nil, err
	}
	if server.Out, err = cp.files.log(apiServerName, cp.options.output); err != nil {
		return nil, err
	}
	etcd.Err, server.Err = etcd.Out, server.Out

	existing := false
	env := &envtest.Environment{
		UseExistingCluster:       &existing,
		ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout:  patience,
	}
	env.ControlPlane.Etcd, env.ControlPlane.APIServer = etcd, server
	return env, nil
}

// APIServer is the server that Config reaches, and nil of a shared control plane.
func (cp *ControlPlane) APIServer() *APIServer { return cp.first }

// Etcd reads the store that all API servers share.
func (cp *ControlPlane) Etcd() *Etcd { return cp.etcd }

// KubeConfig is an admin kubeconfig for the first API server, to be written to a file for kubectl and subprocesses.
func (cp *ControlPlane) KubeConfig() ([]byte, error) { return kubeConfig(cp.Config) }

// SecondAPIServer starts one more kube-apiserver on the same etcd, with the same certificates and flags, and perhaps more, on a port of
// its own, and returns when it is ready, about two seconds later. Each call adds a server; Stop of the control plane
// stops them all.
func (cp *ControlPlane) SecondAPIServer(more ...Option) (*APIServer, error) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.attached {
		return nil, errShared
	}
	if cp.stopped {
		return nil, errors.New("no second API server: the control plane is stopped")
	}
	name := fmt.Sprintf("%s-%d", apiServerName, len(cp.others)+2)
	if err := cp.files.link(name); err != nil {
		return nil, err
	}
	log, err := cp.files.log(name, nil)
	if err != nil {
		return nil, err
	}

	another := cp.first.another(cp.files.program(name), cp.files.pid(name), log, cp.options.with(more))
	cp.others = append(cp.others, another)
	if err := another.start(); err != nil {
		return nil, fmt.Errorf("%s did not start: %w\n%s", name, err, cp.files.lastLogLines())
	}
	return another, nil
}

// Stop ends all API servers, then etcd, and removes their files. It may be called twice; the second call returns what
// the first returned.
func (cp *ControlPlane) Stop() error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.stopped {
		return cp.stopping
	}
	cp.stopped = true

	var errs []error
	if cp.etcd != nil {
		errs = append(errs, cp.etcd.close())
	}
	if cp.attached {
		cp.stopping = errors.Join(errs...)
		return cp.stopping
	}
	servers := cp.others
	if cp.first != nil {
		servers = append(slices.Clone(servers), cp.first)
	}
	errs = append(errs, stopAll(servers))
	if cp.env != nil {
		errs = append(errs, cp.env.Stop())
	}
	errs = append(errs, cp.guard.release(), cp.files.remove())
	cp.stopping = errors.Join(errs...)
	return cp.stopping
}

// waitReady waits until the server has loaded what it serves: /healthz, which envtest waits for, answers earlier.
func waitReady(config *rest.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := rest.UnversionedRESTClientFor(unversioned(config))
	if err != nil {
		return err
	}
	for {
		body, err := client.Get().AbsPath("/readyz").Param("verbose", "").DoRaw(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %s: %w\n%s", config.Host, patience, err, body)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// minorOf asks the server for its version.
func minorOf(config *rest.Config) (int, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return 0, err
	}
	info, err := client.ServerVersion()
	if err != nil {
		return 0, err
	}
	minor, err := strconv.Atoi(info.Minor)
	if err != nil {
		return 0, fmt.Errorf("version %s of the API server: %w", info.GitVersion, err)
	}
	return minor, nil
}

// stopAll stops the servers side by side.
func stopAll(servers []*APIServer) error {
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { errs[i] = s.Stop() })
	}
	all.Wait()
	return errors.Join(errs...)
}
