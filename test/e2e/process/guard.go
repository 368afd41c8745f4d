package process

import (
	_ "embed"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed guard.sh
var guardScript string

// guard is a shell in a group of its own that ends a process group, and removes its folder, when its standard input ends,
// which the kernel sees to however this process dies.
type guard struct {
	shell *exec.Cmd
	input io.WriteCloser
}

func newGuard(group int, scratch string) (*guard, error) {
	shell := exec.Command("/bin/sh", "-c", guardScript, "guard", strconv.Itoa(group), scratch)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := shell.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &guard{shell: shell, input: input}, shell.Start()
}

// dismiss ends the guard without letting it act: its group's number may belong to others by then.
func (g *guard) dismiss() {
	if g == nil {
		return
	}
	_ = syscall.Kill(-g.shell.Process.Pid, syscall.SIGKILL)
	_ = g.input.Close()
	_ = g.shell.Wait()
}

// watchParent ends this process when the go command that started it is gone: SIGTERM to `go test` alone would leave
// the test running on, unseen, with all its servers. It watches until done is closed, and not at all when something
// else started this process.
func watchParent(done <-chan struct{}) {
	parent := os.Getppid()
	name, err := os.ReadFile("/proc/" + strconv.Itoa(parent) + "/comm")
	if err != nil || strings.TrimSpace(string(name)) != "go" {
		return
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for os.Getppid() == parent {
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
}
