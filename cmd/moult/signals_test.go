package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

// What waits for something that no context ends, here for standard input, is ended by the second signal.
func TestTheSecondSignalEndsItAtOnce(t *testing.T) {
	g := NewWithT(t)
	binary := filepath.Join(t.TempDir(), "moult")
	built, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(built))
	head := filepath.Join(t.TempDir(), "widgets.yaml")
	g.Expect(os.WriteFile(head, []byte(clitest.Widgets), 0o600)).To(Succeed())
	command := exec.Command(binary, "bridge", "--base", "-", "--head", head)
	stdin, err := command.StdinPipe()
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = stdin.Close() }()
	g.Expect(command.Start()).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() { _ = command.Process.Kill() })
	// A pipe holds 64 KiB: that more of a comment has been taken shows that the program reads, so it hears signals.
	_, err = io.WriteString(stdin, "#"+strings.Repeat(" ", 128<<10)+"\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(command.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Consistently(ended, "1s").ShouldNot(Receive(), "it has been asked to end in order")
	g.Expect(command.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Eventually(ended, 10*time.Second).Should(Receive(&err))
	var exit *exec.ExitError
	g.Expect(errors.As(err, &exit)).To(BeTrue())
	status, ok := exit.Sys().(syscall.WaitStatus)
	g.Expect(ok).To(BeTrue())
	g.Expect(status.Signal()).To(Equal(syscall.SIGTERM))
}
