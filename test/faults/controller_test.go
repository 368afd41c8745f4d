package faults_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/faults"
	"github.com/moult-dev/moult/test/programs"
)

// start runs both reconcilers behind the proxy, in this process, until the test ends.
func (w *world) start(change ...func(*migration.Options)) {
	w.t.Helper()
	store := migration.NewStateStore()
	opts := migration.Options{
		Groups: []string{w.group}, Settle: settle(w.settle), Registerer: prometheus.NewRegistry(), StateStore: store, PageSize: 15, MaxInFlight: 4,
		NewConverter: converters.Webhooks{}.For,
	}
	for _, c := range change {
		c(&opts)
	}
	mgr, err := ctrl.NewManager(w.proxy.Config(), manager.Options{Scheme: w.client.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
	w.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	w.Expect(migration.SetupWithManager(mgr, opts)).To(Succeed())
	w.Expect(removal.SetupWithManager(ctx, mgr, removal.Options{Migration: store, Groups: opts.Groups, Namespaces: []string{w.namespace}, Clock: opts.Clock})).To(Succeed())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		w.Expect(<-done).To(Succeed())
	})
}

// process is a moult-controller.
type process struct {
	cmd   *exec.Cmd
	guard *exec.Cmd
	alive io.WriteCloser
	ended chan struct{}
}

// run runs a moult-controller behind the proxy until it is killed or the test ends.
func (w *world) run(flags ...string) *process {
	w.t.Helper()
	return w.runAt(w.proxy, flags...)
}

// runAt runs it behind another proxy.
func (w *world) runAt(proxy *faults.Proxy, flags ...string) *process {
	w.t.Helper()
	launch := w.launcher(proxy, flags)
	p, err := launch()
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(p.kill)
	return p
}

// keep runs a moult-controller in the same way, and another one whenever it ends, as a Deployment does.
func (w *world) keep(flags ...string) {
	w.t.Helper()
	launch := w.launcher(w.proxy, flags)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			p, err := launch()
			if err != nil {
				w.t.Error(err)
				return
			}
			select {
			case <-p.ended:
			case <-stop:
				p.kill()
				return
			}
		}
	}()
	w.t.Cleanup(func() {
		close(stop)
		<-stopped
	})
}

// launcher prepares to run moult-controllers. What they say is shown if the test fails.
func (w *world) launcher(proxy *faults.Proxy, flags []string) func() (*process, error) {
	w.t.Helper()
	path, err := programs.Path("moult-controller")
	w.Expect(err).NotTo(HaveOccurred())
	folder := w.t.TempDir()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	content, err := proxy.KubeConfig()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(os.WriteFile(kubeconfig, content, 0o600)).To(Succeed())
	w.logs = append(w.logs, filepath.Join(folder, "log"))
	w.t.Cleanup(func() {
		if said, _ := os.ReadFile(filepath.Join(folder, "log")); w.t.Failed() {
			lines := strings.Split(strings.TrimSpace(string(said)), "\n")
			w.t.Logf("moult-controller said at last:\n%s", strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
	flags = append([]string{"--settle", settle(w.settle).String(), "--crd-groups", w.group, "--gate-namespaces", w.namespace,
		"--metrics-addr", "0", "--health-addr", "0"}, flags...)
	return func() (*process, error) {
		log, err := os.OpenFile(filepath.Join(folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer log.Close() // the child has its own
		p := &process{ended: make(chan struct{}), cmd: exec.Command(path, flags...)}
		p.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		p.cmd.Stdout, p.cmd.Stderr = log, log
		if err := p.cmd.Start(); err != nil {
			return nil, err
		}
		return p, p.watch()
	}
}

// logged is whether a moult-controller has said this.
func (w *world) logged(words string) bool {
	return slices.ContainsFunc(w.logs, func(file string) bool {
		content, _ := os.ReadFile(file)
		return strings.Contains(string(content), words)
	})
}

// watch has the process end with this one, whatever that one dies of.
func (p *process) watch() error {
	p.guard = exec.Command("/bin/sh", "-c", fmt.Sprintf("cat >/dev/null; kill -KILL %d 2>/dev/null", p.cmd.Process.Pid))
	p.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if p.alive, err = p.guard.StdinPipe(); err != nil {
		return err
	}
	if err := p.guard.Start(); err != nil {
		return err
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait()
		_ = p.guard.Process.Kill() // the process id may belong to another one soon
		_ = p.guard.Wait()
	}()
	return nil
}

// kill ends the process as a crash does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) isDead() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// balanced has the proxy ask several API servers in turn.
func (w *world) balanced(servers ...*rest.Config) {
	w.t.Helper()
	w.Expect(w.proxy.Target(servers...)).To(Succeed())
}

// midPass waits until a pass over the widgets is well under way, at a pace that leaves time to do something about it.
func (w *world) midPass(begin func()) {
	w.t.Helper()
	slow := w.slow(60 * time.Millisecond)
	w.atTheEnd(slow.Heal)
	begin()
	w.until("the pass is under way", func() bool { return slow.Hits() >= 10 })
}
