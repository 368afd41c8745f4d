// Package process runs the servers of an end-to-end test as child processes that cannot outlive it.
//
// Start one with Start, wait with Await until it does its work, and end it with Stop. Each runs in its own process
// group and writes to a file of its own. Stop is the ordinary end; when the test process dies without it (a panic,
// the timeout of go test, Ctrl-C, SIGKILL) a guard, a shell that waits on the other end of a pipe, ends the group.
package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Grace is how long a server may take to end after SIGTERM before it is sent SIGKILL.
const Grace = 5 * time.Second

// Command says what to run.
type Command struct {
	// Name is used in messages and for the log file, <Name>.log.
	Name string
	// Path is the program's file.
	Path string
	Args []string
	// Env is added to the environment of the test; the last value of a name counts.
	Env []string
	// LogDir is an existing folder; output is appended to a log file in it.
	LogDir string
	// Scratch is a folder to be removed when the test dies without Stop; several processes may share it. Otherwise
	// it is left to the caller.
	Scratch string
}

// Process is a running server.
type Process struct {
	name   string
	pid    int
	log    logFile
	guard  *guard
	exited chan struct{}
	state  *os.ProcessState
	stop   sync.Once
}

// Start runs the command. It returns as soon as the process exists; Await tells when it is of use.
func Start(c Command) (*Process, error) {
	log := logFile{path: filepath.Join(c.LogDir, c.Name+".log")}
	output, err := log.open()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	defer output.Close()

	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = ownGroup()

	p := &Process{name: c.Name, log: log, exited: make(chan struct{})}
	started := make(chan error)
	go p.run(cmd, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	go watchParent(p.exited)
	if p.guard, err = newGuard(p.pid, c.Scratch); err != nil {
		p.Stop()
		return nil, fmt.Errorf("start %s: its guard: %w", c.Name, err)
	}
	return p, nil
}

// run starts the process and waits for it on one thread, because on Linux a child's parent-death signal is sent when
// the thread that started it ends, not the process.
func (p *Process) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	_ = cmd.Wait() // what it exited with is read from the state
	p.state = cmd.ProcessState
	close(p.exited)
}

// Stop ends the process and its children: SIGTERM, and SIGKILL after Grace. It returns when the process is gone, may be
// called often and does nothing for a process that has ended or for nil.
func (p *Process) Stop() {
	if p == nil {
		return
	}
	p.stop.Do(func() {
		_ = syscall.Kill(-p.pid, syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(Grace):
		}
		_ = syscall.Kill(-p.pid, syscall.SIGKILL) // also children that stayed behind; without any it finds no group
		<-p.exited
		p.guard.dismiss()
	})
}

// Await asks ready every 50 ms until it says yes. The error tells what was awaited and the end of the log, and comes
// at once when the process has ended, or when ctx is done.
func (p *Process) Await(ctx context.Context, what string, ready func(context.Context) bool) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ready(ctx) {
		select {
		case <-tick.C:
		case <-p.exited:
			return fmt.Errorf("%s ended (%s) before %s; its log ends:\n%s", p.name, p.state, what, p.Tail(20))
		case <-ctx.Done():
			return fmt.Errorf("%s: %w while waiting until %s; its log ends:\n%s", p.name, ctx.Err(), what, p.Tail(20))
		}
	}
	return nil
}

// Running is false once the process has ended for whatever reason.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}
