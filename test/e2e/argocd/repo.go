package argocd

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Branch is where Repo commits to and Applications look.
const Branch = "main"

// Repo is a Git repository on disk, removed when its test ends. Use one per Application: a commit makes Argo CD look at
// every Application of the repository.
type Repo struct {
	t   testing.TB
	dir string
}

// NewRepo makes an empty repository. Its methods fail the test when git does.
func NewRepo(t testing.TB) *Repo {
	t.Helper()
	repo := &Repo{t: t, dir: t.TempDir()}
	repo.git("init", "--quiet", "--initial-branch="+Branch)
	return repo
}

// URL is what an Application names as its repoURL.
func (r *Repo) URL() string { return "file://" + r.dir }

// Commit writes the files, named by their path in the repository, and commits everything. A file with empty content is
// removed; files not named stay. It returns the commit's id.
func (r *Repo) Commit(files map[string]string, message string) string {
	r.t.Helper()
	for name, content := range files {
		r.write(name, []byte(content))
	}
	return r.commit(message)
}

// CommitFolder makes the repository's content exactly that of a folder, and commits. It returns the commit's id.
func (r *Repo) CommitFolder(folder, message string) string {
	r.t.Helper()
	r.git("rm", "-r", "--quiet", "--ignore-unmatch", ".")
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		r.write(name, content)
		return err
	})
	if err != nil {
		r.t.Fatalf("copy %s into the repository: %v", folder, err)
	}
	return r.commit(message)
}

// Tag names the newest commit.
func (r *Repo) Tag(name string) {
	r.t.Helper()
	r.git("tag", name)
}

// Revert undoes one commit by another, whose id it returns.
func (r *Repo) Revert(commit string) string {
	r.t.Helper()
	r.git("revert", "--no-edit", commit)
	return r.git("rev-parse", "HEAD")
}

func (r *Repo) write(name string, content []byte) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	var err error
	if len(content) == 0 {
		err = os.Remove(path)
	} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
		err = os.WriteFile(path, content, 0o644)
	}
	if err != nil {
		r.t.Fatalf("write %s in the repository: %v", name, err)
	}
}

func (r *Repo) commit(message string) string {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message="+message)
	return r.git("rev-parse", "HEAD")
}

// git runs without the user's settings, which may ask for signatures or run hooks.
func (r *Repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=moult", "GIT_AUTHOR_EMAIL=moult@example.invalid",
		"GIT_COMMITTER_NAME=moult", "GIT_COMMITTER_EMAIL=moult@example.invalid")
	output, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}
