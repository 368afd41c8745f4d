package stage

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/tools"
)

// Shell is where a reader types what a page has: moult and kubectl are in the PATH.
type Shell struct {
	t      *testing.T
	folder string
	env    []string
}

// NewShell is a shell in a folder, with a context for each cluster.
func NewShell(t *testing.T, folder string, clusters map[string]*rest.Config) *Shell {
	t.Helper()
	g := NewWithT(t)
	home := t.TempDir()
	kubectl, err := tools.Kubectl()
	g.Expect(err).NotTo(HaveOccurred())
	kubeconfig := filepath.Join(home, "kubeconfig")
	g.Expect(cluster.WriteKubeconfigs(clusters, kubeconfig)).To(Succeed())
	path := strings.Join([]string{filepath.Dir(Build(t, "moult")), filepath.Dir(kubectl.Binary), os.Getenv("PATH")}, string(os.PathListSeparator))
	return &Shell{t: t, folder: folder, env: append(os.Environ(), "PATH="+path, "HOME="+home, "KUBECONFIG="+kubeconfig, "KUBERC=off",
		"GIT_AUTHOR_NAME=reader", "GIT_AUTHOR_EMAIL=reader@example.com", "GIT_COMMITTER_NAME=reader", "GIT_COMMITTER_EMAIL=reader@example.com")}
}

// Run is all that the commands print.
func (s *Shell) Run(ctx context.Context, commands string) (printed string, err error) {
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	command.Dir, command.Env = s.folder, s.env
	output, err := command.CombinedOutput()
	return string(output), err
}

// MustRun runs commands that have to succeed.
func (s *Shell) MustRun(commands string) (printed string) {
	s.t.Helper()
	printed, err := s.Run(s.t.Context(), commands)
	NewWithT(s.t).Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, printed)
	return printed
}

// In is the same shell in another folder.
func (s *Shell) In(folder string) *Shell {
	other := *s
	other.folder = folder
	return &other
}
