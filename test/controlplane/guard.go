package controlplane

import (
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

//go:embed guard.sh
var guardScript string

// guard is a small process that ends the control plane when ours can no longer do it: a test binary that panics, runs
// into its -timeout or is killed runs no deferred function.
type guard struct {
	cmd   *exec.Cmd
	alive io.WriteCloser
}

func startGuard(dir string) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "moult-control-plane-guard", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in a terminal is for us, not for it
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard that ends an orphaned control plane: %w", err)
	}
	return &guard{cmd: cmd, alive: alive}, nil
}

// release lets the guard do its work, which is nothing once all programs have ended, and waits for it.
func (g *guard) release() error {
	_ = g.alive.Close()
	return g.cmd.Wait()
}
