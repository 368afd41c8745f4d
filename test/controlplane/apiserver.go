package controlplane

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// APIServer is one kube-apiserver process. Its methods may be called concurrently.
type APIServer struct {
	// Config reaches this server as a cluster admin, without any client-side rate limit.
	Config *rest.Config

	server  *envtest.APIServer
	pidFile string

	mu sync.Mutex
}

// another prepares a server with this one's etcd, certificates, admin user and flags.
func (s *APIServer) another(program, pidFile string, log io.Writer, o options) *APIServer {
	server := &envtest.APIServer{
		Path:          program,
		CertDir:       s.server.CertDir,
		EtcdURL:       s.server.EtcdURL,
		Out:           log,
		Err:           log,
		StartTimeout:  patience,
		StopTimeout:   patience,
		SecureServing: envtest.SecureServing{CA: s.server.CA, Authn: s.server.Authn},
	}
	o.configure(server)
	return &APIServer{Config: rest.CopyConfig(s.Config), server: server, pidFile: pidFile}
}

func (s *APIServer) start() error {
	if err := s.server.Start(); err != nil {
		return err
	}
	s.Config.Host = s.server.SecureServing.URL("https", "/").String()
	return waitReady(s.Config)
}

// KubeConfig is an admin kubeconfig for this server.
func (s *APIServer) KubeConfig() ([]byte, error) { return kubeConfig(s.Config) }

// Pause stops the process in its tracks (SIGSTOP): connections stay open and nobody answers, as on a node that hangs.
// Requests against it need a timeout of their own.
func (s *APIServer) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume lets it go on where it was paused (SIGCONT), with the requests and the stale caches it had then.
func (s *APIServer) Resume() error { return s.signal(syscall.SIGCONT) }

// Kill ends the process at once (SIGKILL), as a crash does.
func (s *APIServer) Kill() error { return s.signal(syscall.SIGKILL) }

// Stop ends the process gracefully, resuming it first. Stopping a server that has ended is no error.
func (s *APIServer) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.signal(syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.server.Stop(); err != nil {
		return err
	}
	_ = os.Remove(s.pidFile) // the id may belong to another process from now on
	return nil
}

func (s *APIServer) signal(sig syscall.Signal) error {
	return signal(s.pidFile, s.Config.Host, sig)
}

// signal signals the program that has left its process id in a file.
func signal(pidFile, name string, sig syscall.Signal) error {
	content, err := os.ReadFile(pidFile)
	if err != nil {
		return fmt.Errorf("%s is not running: %w", name, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("process id of %s: %w", name, err)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		return fmt.Errorf("signal %q to %s, process %d: %w", sig, name, pid, err)
	}
	return nil
}

// unversioned is the config as the REST client for bare paths such as /readyz needs it.
func unversioned(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	return c
}

func kubeConfig(config *rest.Config) ([]byte, error) {
	const name = "moult-test"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	return clientcmd.Write(*file)
}
