package collector

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moult-dev/moult/test/controlplane/assets"
	"github.com/moult-dev/moult/test/running"
)

// process is a program that runs until the test ends, or kill.
type process struct {
	cmd  *exec.Cmd
	log  string // file
	kill func()
}

// start runs a program. A shell ends it should the test's own process die without a chance to.
func start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	g := NewWithT(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	g.Expect(err).NotTo(HaveOccurred())
	p := &process{cmd: exec.Command(program, args...), log: log.Name()}
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig(t))
	p.cmd.Stdout, p.cmd.Stderr = log, log
	g.Expect(p.cmd.Start()).To(Succeed())
	guard := exec.Command("/bin/sh", "-c", `cat >/dev/null; kill -KILL "$1" 2>/dev/null`, "guard", strconv.Itoa(p.cmd.Process.Pid))
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	alive, err := guard.StdinPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(guard.Start()).To(Succeed())
	p.kill = sync.OnceFunc(func() {
		_ = alive.Close()
		_ = guard.Wait()
		_ = p.cmd.Wait()
		_ = log.Close()
	})
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", filepath.Base(program), p.tail())
		}
	})
	return p
}

func (p *process) says(text string) func() (bool, error) {
	return func() (bool, error) {
		log, err := os.ReadFile(p.log)
		return strings.Contains(string(log), text), err
	}
}

// count is how often it says something.
func (p *process) count(text string) int {
	log, _ := os.ReadFile(p.log)
	return strings.Count(string(log), text)
}

func (p *process) tail() string {
	log, _ := os.ReadFile(p.log)
	return string(log[max(0, len(log)-4000):])
}

// collects starts the garbage collector, for the CRDs that there are: it looks for others every 30 seconds. More controllers of
// kube-controller-manager may run beside it.
func collects(t *testing.T, more ...string) {
	t.Helper()
	collectsWith(t, kubeconfig(t), more...)
}

// collectsWith does the same with a kubeconfig of its own.
func collectsWith(t *testing.T, kubeconfig string, more ...string) *process {
	t.Helper()
	g := NewWithT(t)
	manager, err := assets.ControllerManager()
	g.Expect(err).NotTo(HaveOccurred())
	p := start(t, manager, "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=false",
		"--controllers="+strings.Join(append([]string{"garbage-collector-controller", "namespace-controller"}, more...), ","), "--kube-api-qps=500", "--kube-api-burst=1000")
	g.Eventually(p.says("all resource monitors have synced"), running.Soon, "200ms").Should(BeTrue())
	return p
}

func kubeconfig(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	raw, err := cp.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(path, raw, 0o600)).To(Succeed())
	return path
}

// kubeconfigAs is one for an administrator who acts as somebody else.
func kubeconfigAs(t *testing.T, user string) string {
	t.Helper()
	g := NewWithT(t)
	path := kubeconfig(t)
	config, err := clientcmd.LoadFromFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	for _, who := range config.AuthInfos {
		who.Impersonate, who.ImpersonateGroups = user, []string{"system:masters"}
	}
	g.Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

// programs builds moult and moult-controller, once.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../../bin/collector") // bin is not committed
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-o", dir+"/", "../../cmd/moult", "../../cmd/moult-controller").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building moult and moult-controller: %w\n%s", err, out)
	}
	return dir, nil
})

func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return filepath.Join(dir, name)
}
