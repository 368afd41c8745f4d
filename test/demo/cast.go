package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/controlplane"
)

// cast is everything that runs during the story.
type cast struct {
	cp         *controlplane.ControlPlane
	folder     string // kubeconfig and the controller's log
	controller *exec.Cmd
	exited     chan struct{} // closed when the controller has ended
}

// logTail is how many lines of the controller's log are shown when the story fails.
const logTail = 15

// startControlPlane starts kube-apiserver and etcd, which end with this process whatever it dies of.
func startControlPlane() (*cast, error) {
	cp, err := controlplane.Start()
	if err != nil {
		return nil, err
	}
	cp.Config.WarningHandler = rest.NoWarnings{} // deprecated versions are the point of the story
	c := &cast{cp: cp}
	if c.folder, err = os.MkdirTemp("", "moult-demo-"); err != nil {
		return nil, errors.Join(err, cp.Stop())
	}
	content, err := cp.KubeConfig()
	if err == nil {
		err = os.WriteFile(c.kubeconfig(), content, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// startController runs the moult-controller binary. With leader election it ends by itself once the API server is gone,
// so that not even a killed demo leaves it behind.
func (c *cast) startController(binary string, settle time.Duration, ended context.CancelCauseFunc) error {
	log, err := os.Create(c.log())
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	c.controller = exec.Command(binary, "--settle", settle.String(), "--metrics-addr", "0", "--health-addr", "0",
		"--enable-leader-election", "--leader-election-namespace", "default")
	c.controller.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig())
	c.controller.Stdout, c.controller.Stderr = log, log
	c.controller.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us, and we stop it
	if err := c.controller.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", binary, err)
	}
	c.exited = make(chan struct{})
	go func() {
		_ = c.controller.Wait() // its state says more
		ended(fmt.Errorf("moult-controller has ended by itself: %s", c.controller.ProcessState))
		close(c.exited)
	}()
	return nil
}

// stop ends everything, the controller first, so that it can give its lease back.
func (c *cast) stop() error {
	if c.exited != nil {
		_ = c.controller.Process.Signal(syscall.SIGTERM)
		select {
		case <-c.exited:
		case <-time.After(10 * time.Second):
			_ = c.controller.Process.Kill()
			<-c.exited
		}
	}
	return errors.Join(c.cp.Stop(), os.RemoveAll(c.folder))
}

func (c *cast) kubeconfig() string { return filepath.Join(c.folder, "kubeconfig") }
func (c *cast) log() string        { return filepath.Join(c.folder, "moult-controller.log") }

// lastLogLines is the end of the controller's log, empty if it never ran.
func (c *cast) lastLogLines() []string {
	content, err := os.ReadFile(c.log())
	if err != nil || len(content) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return lines[max(0, len(lines)-logTail):]
}
