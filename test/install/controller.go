package install

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/moult-dev/moult/test/programs"
	"github.com/moult-dev/moult/test/running"
)

// What the linker of a release sets (test/tools/release).
const (
	version, commit, date = "v0.1.0-test", "0123456789abcdef0123456789abcdef01234567", "2026-11-25T01:26:06Z"

	start   = "-X github.com/moult-dev/moult/cmd/internal/start."
	stamped = start + "version=" + version + " " + start + "commit=" + commit + " " + start + "date=" + date
)

// built builds moult and moult-controller, once per run of the tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs(filepath.Join(root, "bin/install")) // bin is not committed
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-ldflags=-s -w "+stamped, "-o", dir, root+"/cmd/moult", root+"/cmd/moult-controller").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building moult and moult-controller: %w\n%s", err, out)
	}
	return dir, nil
})

// Program is the file of moult or moult-controller.
func Program(t testing.TB, name string) string {
	t.Helper()
	programs.Tested()
	dir, err := built()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return filepath.Join(dir, name)
}

// Controller is the Deployment's container, running as a process.
type Controller struct {
	*Road
	g         Gomega
	process   *exec.Cmd
	container corev1.Container
	addresses map[string]string // by the port's name
	ended     chan struct{}
}

// Start runs the container until the test ends, with more arguments, and waits until it is ready.
func (i *Installation) Start(more ...string) *Controller {
	i.t.Helper()
	return i.start(nil, more...)
}

// StartWithin is Start with the memory that the Deployment limits it to.
func (i *Installation) StartWithin(more ...string) (*Controller, *Cgroup) {
	i.t.Helper()
	within := NewCgroup(i.t, i.Deployment.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().Value())
	return i.start(within, more...), within
}

func (i *Installation) start(within *Cgroup, more ...string) *Controller {
	i.t.Helper()
	road, err := NewRoad(i.cp.Config, i.around...)
	i.g.Expect(err).NotTo(HaveOccurred())
	c := &Controller{Road: road, g: i.g, container: i.Deployment.Spec.Template.Spec.Containers[0], addresses: map[string]string{}, ended: make(chan struct{})}
	dir := i.t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	i.g.Expect(err).NotTo(HaveOccurred())
	command := append(append([]string{Program(i.t, "moult-controller")}, c.arguments()...), more...)
	if within != nil {
		command = within.Around(command...)
	}
	c.process = exec.Command(command[0], command[1:]...)
	c.process.Env = append(append(os.Environ(), c.environment()...), "GOGC=", "RUNTIME_NAMESPACE="+i.Deployment.Namespace, "KUBECONFIG="+i.kubeconfig(dir, road))
	c.process.Stdout, c.process.Stderr = log, log
	i.g.Expect(c.process.Start()).To(Succeed())
	go func() {
		defer close(c.ended)
		_ = c.process.Wait()
	}()
	i.t.Cleanup(func() {
		c.stop()
		road.Close()
		log.Close()
		if i.t.Failed() {
			said, _ := os.ReadFile(log.Name())
			lines := strings.Split(strings.TrimSpace(string(said)), "\n")
			i.t.Logf("moult-controller said at last:\n%s", strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
	i.g.Eventually(func() error {
		if c.hasEnded() {
			return StopTrying("moult-controller has ended")
		}
		return c.probe(c.container.ReadinessProbe)
	}, running.Soon).Should(Succeed())
	return c
}

// arguments are the Deployment's, but each port that it listens on is a free one of this machine alone, and the settle
// time is that of a single API server.
func (c *Controller) arguments() (args []string) {
	for _, arg := range c.container.Args {
		for _, port := range c.container.Ports {
			if flag, ok := strings.CutSuffix(arg, fmt.Sprintf(":%d", port.ContainerPort)); ok {
				c.addresses[port.Name] = c.freeAddress()
				arg = flag + c.addresses[port.Name]
			}
		}
		args = append(args, arg)
	}
	return append(args, "--settle=1s")
}

// environment is what the Deployment tells the container of its own limits.
func (c *Controller) environment() (env []string) {
	for _, variable := range c.container.Env {
		if from := variable.ValueFrom; from != nil && from.ResourceFieldRef != nil {
			c.g.Expect(from.ResourceFieldRef.Resource).To(Equal("limits.memory"), "what else would this test have to fill in?")
			env = append(env, fmt.Sprintf("%s=%d", variable.Name, c.container.Resources.Limits.Memory().Value()))
		}
	}
	return env
}

func (c *Controller) freeAddress() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	c.g.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	return listener.Addr().String()
}

func (i *Installation) kubeconfig(dir string, road *Road) string {
	i.t.Helper()
	file := clientcmdapi.NewConfig()
	file.Clusters["it"] = road.Cluster()
	file.AuthInfos["it"] = &clientcmdapi.AuthInfo{Token: i.Token}
	file.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}
	file.CurrentContext = "it"
	path := filepath.Join(dir, "kubeconfig")
	i.g.Expect(clientcmd.WriteToFile(*file, path)).To(Succeed())
	return path
}

// probe asks as the kubelet would.
func (c *Controller) probe(probe *corev1.Probe) error {
	_, err := c.get(probe.HTTPGet.Port.StrVal, probe.HTTPGet.Path)
	return err
}

// get asks the controller itself, at the port that has a name in the Deployment.
func (c *Controller) get(port, path string) (string, error) {
	answer, err := http.Get("http://" + c.addresses[port] + path)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", path, answer.Status, body)
	}
	return string(body), err
}

// stop ends it as a kubelet does, and waits.
func (c *Controller) stop() {
	_ = c.process.Process.Signal(syscall.SIGTERM)
	<-c.ended
}

func (c *Controller) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}
