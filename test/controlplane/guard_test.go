package controlplane_test

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/controlplane"
)

// orphanEnv makes this test binary start a control plane and end in the way the variable says, without stopping it.
const orphanEnv = "MOULT_TEST_END_BADLY"

func endBadly(ending string) {
	own, err := controlplane.Start()
	if err == nil {
		_, err = own.SecondAPIServer()
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(own.Config.Host, own.Etcd().Endpoint)
	switch ending {
	case "panic":
		go func() { panic("a test panicked in a goroutine of its own") }()
	case "exit":
		os.Exit(3)
	case "SIGTERM":
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	case "SIGKILL":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	time.Sleep(time.Minute)
}

func TestNothingIsOrphanedWhenTheTestBinaryEndsBadly(t *testing.T) {
	for _, ending := range []string{"panic", "exit", "SIGTERM", "SIGKILL"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			folder := t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), orphanEnv+"="+ending, "TMPDIR="+folder)
			out, err := cmd.StdoutPipe()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cmd.Start()).To(Succeed())
			line, err := bufio.NewReader(out).ReadString('\n')
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.Fields(line)).To(HaveLen(2))
			g.Expect(cmd.Wait()).NotTo(Succeed())

			g.Eventually(func() ([]os.DirEntry, error) { return os.ReadDir(folder) }).WithTimeout(patience).
				Should(BeEmpty(), "the guard removes the folder last")
			for _, server := range strings.Fields(line) {
				address, err := url.Parse(server)
				g.Expect(err).NotTo(HaveOccurred())
				g.Eventually(func() error { // the kernel closes a killed process's ports a little later
					connection, err := net.Dial("tcp", address.Host)
					if err == nil {
						_ = connection.Close()
					}
					return err
				}).WithTimeout(patience).Should(MatchError(syscall.ECONNREFUSED), server)
			}
		})
	}
}
