package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// EnvShared is the environment variable that names the folder of a running control plane, as Share returns it. Test
// packages attach to that one instead of starting their own, unless they ask for their own (Own, Flag).
const EnvShared = "MOULT_CONTROL_PLANE"

// The files that a process needs to attach, in the control plane's folder.
const (
	sharedKubeConfig = "kubeconfig"
	sharedEtcd       = "etcd-endpoint"
)

// errShared is the answer to what would disturb the other packages.
var errShared = errors.New("this control plane is shared with other test packages: give controlplane.Run the option controlplane.Own")

// ForMany are the options of a control plane that many test packages share at once. Without the API server's own limits on
// requests in flight and its priorities, packages do not throttle one another.
func ForMany() []Option {
	return []Option{
		Flag("enable-priority-and-fairness", "false"),
		Flag("max-requests-inflight", "0"),
		Flag("max-mutating-requests-inflight", "0"),
	}
}

// Share lets other processes attach to the control plane for as long as it runs. They do so by the folder that it returns,
// in the environment variable EnvShared.
func (cp *ControlPlane) Share() (dir string, err error) {
	content, err := cp.KubeConfig()
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(cp.files.path(sharedKubeConfig), content, 0o600); err != nil {
		return "", err
	}
	return cp.files.dir, os.WriteFile(cp.files.path(sharedEtcd), []byte(cp.etcd.Endpoint), 0o600)
}

// attach reaches a control plane that another process has started. Stop leaves it running.
func attach(dir string) (*ControlPlane, error) {
	cp := &ControlPlane{attached: true}
	if err := cp.attach(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("attach to the control plane in %s, which %s names: %w", dir, EnvShared, err), cp.Stop())
	}
	return cp, nil
}

func (cp *ControlPlane) attach(dir string) (err error) {
	if cp.Config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(dir, sharedKubeConfig)); err != nil {
		return err
	}
	cp.Config.QPS = -1
	sharedHost.Store(cp.Config.Host)
	endpoint, err := os.ReadFile(filepath.Join(dir, sharedEtcd))
	if err != nil {
		return err
	}
	if cp.etcd, err = newEtcd(strings.TrimSpace(string(endpoint))); err != nil {
		return err
	}
	cp.Minor, err = minorOf(cp.Config)
	return err
}

// sharedHost is the URL of the shared API server, if this process has attached to one.
var sharedHost atomic.Value

// IsShared is whether the API server that config reaches is one that other processes use too.
func IsShared(config *rest.Config) bool { return sharedHost.Load() == config.Host }

// kept are the goroutines of connections that stay open for a while to a server that goes on running. A watch or a request
// that does not end has other goroutines, and those count as leaked.
var kept = []goleak.Option{
	goleak.IgnoreAnyFunction("net/http/internal/http2.(*clientConnReadLoop).run"),
	goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
	goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
}
