package golden_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// pull is a pull request.
type pull struct {
	name string
	// About says what a reviewer has to be told.
	About string `json:"about"`
	// Exit is the exit code of moult preview.
	Exit int `json:"exit"`
	// Args are further arguments; TESTDATA stands for the folder with all of this.
	Args []string `json:"args"`
	// Snapshots are the clusters of which there is a snapshot; both if it is left out.
	Snapshots []string `json:"snapshots"`
}

var clusters = []string{"production", "staging"}

// pulls reads all pull requests, by name.
func pulls(t *testing.T) []pull {
	t.Helper()
	g := NewWithT(t)
	folders, err := os.ReadDir("testdata/pulls")
	g.Expect(err).NotTo(HaveOccurred())
	var all []pull
	for _, folder := range folders {
		content, err := os.ReadFile(filepath.Join("testdata/pulls", folder.Name(), "pull.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		p := pull{name: folder.Name(), Snapshots: clusters}
		here, err := filepath.Abs("testdata")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.UnmarshalStrict(bytes.ReplaceAll(content, []byte("TESTDATA"), []byte(here)), &p)).To(Succeed())
		all = append(all, p)
	}
	return all
}

// file is the path of one of the pull request's files.
func (p pull) file(name string) string {
	here, err := filepath.Abs(filepath.Join("testdata/pulls", p.name, name))
	if err != nil {
		panic(err)
	}
	return here
}

// snapshot is the file that says what a cluster stores.
func (p pull) snapshot(cluster string) string {
	if own := p.file("snapshots/" + cluster + ".yaml"); exists(own) {
		return own
	}
	shared, err := filepath.Abs("testdata/snapshots/" + cluster + ".yaml")
	if err != nil {
		panic(err)
	}
	return shared
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// repository makes a Git repository with the branch main, and one for each pull request.
func newRepository(t *testing.T, all []pull) (dir string) {
	t.Helper()
	g := NewWithT(t)
	dir = t.TempDir()
	g.Expect(os.CopyFS(dir, os.DirFS("testdata/repository"))).To(Succeed())
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	commit(t, dir, "The repository")
	for _, p := range all {
		git(t, dir, "checkout", "--quiet", "-b", p.name, "main")
		if deleted, err := os.ReadFile(p.file("deleted.txt")); err == nil {
			for _, name := range strings.Fields(string(deleted)) {
				g.Expect(os.Remove(filepath.Join(dir, name))).To(Succeed())
			}
		}
		if files := p.file("files"); exists(files) {
			overwrite(g, files, dir)
		}
		commit(t, dir, p.name)
	}
	git(t, dir, "checkout", "--quiet", "main")
	return dir
}

// overwrite copies files; os.CopyFS would not replace those that are there.
func overwrite(g *WithT, from, to string) {
	g.Expect(filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		short, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, short)
		if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o600)
	})).To(Succeed())
}

func commit(t *testing.T, dir, message string) {
	t.Helper()
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message", message)
}

// git runs without anybody's configuration, and always at the same time, so that the commits are always the same.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2025-06-02T09:00:00Z",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=2025-06-02T09:00:00Z")
	output, err := command.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(output))
}
