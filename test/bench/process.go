package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a contender at work: a process of its own, so that its memory and its CPU are its own.
type process struct {
	name  string
	cmd   *exec.Cmd
	log   string // file
	guard *exec.Cmd
	alive io.Closer
	input io.Writer // says go, to contenders of this program
	ended chan struct{}
	lines chan string // what a contender of this program answers
}

// start runs a program with its output in a log. stdin and stdout are for the contenders of this program.
func (s *stage) start(name string, kubeconfig string, program string, args ...string) (*process, error) {
	log, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("%s-%d.log", name, time.Now().UnixNano())))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: name, log: log.Name(), ended: make(chan struct{}), lines: make(chan string, 16)}
	p.cmd = exec.Command(program, args...)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us, who then end it
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := p.watchOver(); err != nil {
		_ = p.cmd.Process.Kill()
		return nil, err
	}
	go p.read(output)
	return p, nil
}

// watchOver has a shell kill the process should this one die of whatever cause and not be able to.
func (p *process) watchOver() error {
	p.guard = exec.Command("/bin/sh", "-c", `cat >/dev/null; kill -KILL "$1" 2>/dev/null`, "guard", strconv.Itoa(p.cmd.Process.Pid))
	p.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	alive, err := p.guard.StdinPipe()
	if err != nil {
		return err
	}
	p.alive = alive
	return p.guard.Start()
}

func (p *process) read(output io.Reader) {
	defer close(p.ended)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		select {
		case p.lines <- lines.Text():
		default: // a program that talks: nobody listens
		}
	}
	_ = p.cmd.Wait()
}

// answer waits for the next line. The error of a process that has ended shows the end of its log.
func (p *process) answer(ctx context.Context, patience time.Duration) (string, error) {
	select {
	case line := <-p.lines:
		return line, nil
	case <-p.ended:
		return "", p.failed(errors.New("it has ended"))
	case <-time.After(patience):
		return "", p.failed(fmt.Errorf("no answer after %s", patience))
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// during is a context that ends with the process.
func (p *process) during(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-p.ended:
			cancel(p.failed(errors.New("it has ended")))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// tell sends a line to a contender of this program.
func (p *process) tell(line string) error {
	_, err := fmt.Fprintln(p.input, line)
	return err
}

// failed adds the end of the log to an error.
func (p *process) failed(err error) error {
	content, _ := os.ReadFile(p.log)
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return fmt.Errorf("%s: %w; its log ends with:\n%s", p.name, err, bytes.Join(lines[max(0, len(lines)-10):], []byte("\n")))
}

// stop ends it at once.
func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = p.guard.Process.Kill() // before its input ends, or it would act
	_ = p.alive.Close()
	_ = p.guard.Wait()
}

// usage is what a process has taken from the machine so far.
type usage struct {
	CPU time.Duration
	// RSS and PeakRSS are bytes of resident memory.
	RSS, PeakRSS int64
}

// usage reads /proc; elsewhere than on Linux everything is 0.
func (p *process) usage() usage {
	folder := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid))
	status, _ := os.ReadFile(filepath.Join(folder, "status"))
	stat, _ := os.ReadFile(filepath.Join(folder, "stat"))
	return usage{CPU: cpuTime(string(stat)), RSS: kibibytes(string(status), "VmRSS:"), PeakRSS: kibibytes(string(status), "VmHWM:")}
}

// kibibytes finds a field of /proc/<pid>/status and returns it in bytes.
func kibibytes(status, field string) int64 {
	_, rest, _ := strings.Cut(status, field)
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseInt(number, 10, 64)
	return n << 10
}

// cpuTime reads utime and stime from /proc/<pid>/stat, where they are counted in hundredths of a second, after the
// program's name, which may hold anything.
func cpuTime(stat string) time.Duration {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}
