package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTwoReleasesAreABranch(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	u := unpacked{base: state{dir: filepath.Join(dir, "base")}, head: state{dir: filepath.Join(dir, "head")}}
	for file, content := range map[string]string{
		"base/.gitignore": "crds\n", "base/crds/a.yaml": "a: 1\n", "base/gone.yaml": "a: 1\n",
		"head/.gitignore": "crds\n", "head/crds/a.yaml": "a: 2\n",
	} {
		g.Expect(os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600)).To(Succeed())
	}
	g.Expect(u.commit(t.Context())).To(Succeed())

	asked := func(args ...string) []string {
		command := exec.CommandContext(t.Context(), "git", args...)
		command.Dir = u.head.dir
		out, err := command.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
		return strings.Fields(string(out))
	}
	g.Expect(asked("branch", "--show-current")).To(Equal([]string{"release"}))
	g.Expect(asked("merge-base", "main", "release")).To(Equal(asked("rev-parse", "main")))
	g.Expect(asked("diff", "--name-status", "main")).To(Equal([]string{"M", "crds/a.yaml", "D", "gone.yaml"}))
	g.Expect(asked("status", "--porcelain")).To(BeEmpty())
}

func TestWhatOfACommentIsVisible(t *testing.T) {
	NewWithT(t).Expect(visible(`<!-- marker -->
# a title

a line
<details><summary>three files</summary>

- one
<details><summary>more</summary>
- two
</details>
</details>

the end
`)).To(Equal(4))
}
