package process_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/e2e/process"
)

// server is a server with a child of its own; both write their process ids.
const server = `sleep 600 & echo "child $!"; echo "server $$"; echo ready; wait`

// asTest makes the test binary play a test that starts a server and ends the way the variable says.
const asTest = "MOULT_E2E_PLAY"

func TestMain(m *testing.M) {
	if how := os.Getenv(asTest); how != "" {
		play(how)
	}
	os.Exit(m.Run())
}

func play(how string) {
	command := shell(os.Getenv("MOULT_E2E_LOGS"), server)
	command.Scratch = scratch(command.LogDir)
	if err := os.MkdirAll(command.Scratch+"/closed", 0o300); err != nil {
		panic(err)
	}
	started, err := process.Start(command)
	if err != nil {
		panic(err)
	}
	if err := started.Await(context.Background(), "ready", started.Logged("ready")); err != nil {
		panic(err)
	}
	fmt.Println("started")
	if how == "panic" {
		panic("as asked")
	}
	time.Sleep(time.Minute) // until the signal comes
}

func shell(logs, script string) process.Command {
	return process.Command{Name: "server", Path: "/bin/sh", Args: []string{"-c", script}, LogDir: logs}
}

func scratch(logs string) string { return logs + "/scratch" }

func TestStop(t *testing.T) {
	for name, script := range map[string]string{
		"a server and its child end":              server,
		"a server that ignores SIGTERM ends":      `trap "" TERM; ` + server,
		"a server's child that stays behind ends": `(trap "" TERM; exec sleep 600) & ` + server,
	} {
		t.Run(name, func(t *testing.T) {
			g, logs := NewWithT(t), t.TempDir()
			started, err := process.Start(shell(logs, script))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(started.Await(t.Context(), "ready", started.Logged("ready"))).To(Succeed())
			g.Expect(alive(t, logs)).To(HaveLen(2))
			g.Expect(started.Running()).To(BeTrue())

			started.Stop()
			started.Stop()
			g.Expect(started.Running()).To(BeFalse())
			g.Eventually(func() []int { return alive(t, logs) }, 5*time.Second).Should(BeEmpty())
		})
	}
}

func TestAwait(t *testing.T) {
	t.Run("a server that ends is reported at once with the end of its log", func(t *testing.T) {
		g := NewWithT(t)
		started, err := process.Start(shell(t.TempDir(), "echo no such flag; exit 3"))
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(started.Stop)
		err = started.Await(t.Context(), "it listens", process.Listening("127.0.0.1:1"))
		g.Expect(err).To(MatchError(And(ContainSubstring("exit status 3"), ContainSubstring("no such flag"))))
	})
	t.Run("what an earlier run has logged does not count", func(t *testing.T) {
		g, logs := NewWithT(t), t.TempDir()
		for _, text := range []string{"ready", "not yet"} {
			started, err := process.Start(shell(logs, "echo "+text+"; sleep 600"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(started.Await(t.Context(), "it speaks", started.Logged(text))).To(Succeed())
			g.Expect(started.Logged("ready")(t.Context())).To(Equal(text == "ready"))
			started.Stop()
		}
	})
	t.Run("a program that is missing is named", func(t *testing.T) {
		_, err := process.Start(process.Command{Name: "server", Path: "/no/such/program", LogDir: t.TempDir()})
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("/no/such/program")))
	})
}

func TestNothingOutlivesTheTest(t *testing.T) {
	for name, how := range map[string]func(*os.Process) error{
		"that panics":         nil,
		"that is interrupted": func(p *os.Process) error { return p.Signal(syscall.SIGINT) },
		"that is terminated":  func(p *os.Process) error { return p.Signal(syscall.SIGTERM) },
		"that is killed":      func(p *os.Process) error { return p.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			g, logs := NewWithT(t), t.TempDir()
			play := "signal"
			if how == nil {
				play = "panic"
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), asTest+"="+play, "MOULT_E2E_LOGS="+logs)
			output, err := cmd.StdoutPipe()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cmd.Start()).To(Succeed())
			g.Expect(bufio.NewReader(output).ReadString('\n')).To(Equal("started\n"))
			if how != nil {
				g.Expect(alive(t, logs)).To(HaveLen(2))
				g.Expect(how(cmd.Process)).To(Succeed())
			}
			g.Expect(cmd.Wait()).NotTo(Succeed())
			g.Eventually(func() []int { return alive(t, logs) }, 10*time.Second).Should(BeEmpty())
			g.Eventually(scratch(logs), 10*time.Second).ShouldNot(BeADirectory())
		})
	}
}

// alive lists those of a server's processes that are there.
func alive(t *testing.T, logs string) (pids []int) {
	t.Helper()
	content, err := os.ReadFile(logs + "/server.log")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		_, number, found := strings.Cut(strings.TrimSpace(line), " ")
		pid, err := strconv.Atoi(number)
		if found && err == nil && running(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// running is false for a process that has ended but that nobody has waited for yet: an orphan's new parent may be slow.
func running(pid int) bool {
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}
