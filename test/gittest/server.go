// Package gittest serves Git repositories over HTTP for tests, on this machine.
package gittest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server has repositories at http://HOST/NAME.git.
type Server struct {
	*httptest.Server

	folder string
	mu     sync.Mutex
	asked  []string
}

// New starts a server without repositories.
func New(t *testing.T) *Server {
	t.Helper()
	s := &Server{folder: t.TempDir()}
	backend := &cgi.Handler{
		Path:   filepath.Join(strings.TrimSpace(output(t, "", "--exec-path")), "git-http-backend"),
		Stderr: io.Discard, // Kustomize asks over HTTP first, for what is no file
		Env:    []string{"GIT_PROJECT_ROOT=" + s.folder, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		s.mu.Unlock()
		if !strings.Contains(r.URL.Path, ".git/") {
			http.NotFound(w, r)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Host is how manifests name it.
func (s *Server) Host() string { return strings.TrimPrefix(s.URL, "http://") }

// Asked are the paths of all requests so far.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Address is that of a repository.
func (s *Server) Address(name string) string { return s.URL + "/" + name + ".git" }

// Commit makes these the files of a repository, which is made if there is none, and returns the commit. Tags are set on it.
func (s *Server) Commit(t *testing.T, name string, files map[string]string, tags ...string) string {
	t.Helper()
	dir := filepath.Join(s.folder, name+".git")
	if _, err := os.Stat(dir); err != nil {
		output(t, "", "init", "--quiet", "--initial-branch=main", dir)
		output(t, dir, "config", "receive.denyCurrentBranch", "ignore")
		output(t, dir, "config", "uploadpack.allowAnySHA1InWant", "true")
	}
	output(t, dir, "rm", "--quiet", "-r", "--ignore-unmatch", ".")
	for _, path := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(files[path]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output(t, dir, "add", "--all")
	output(t, dir, "commit", "--quiet", "--allow-empty", "--message", fmt.Sprint("a commit of ", name))
	for _, tag := range tags {
		output(t, dir, "tag", tag)
	}
	return strings.TrimSpace(output(t, dir, "rev-parse", "HEAD"))
}

// output runs git, without anybody's configuration.
func output(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	written, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, written)
	}
	return string(written)
}

// Link adds a submodule's commit to a repository.
func (s *Server) Link(t *testing.T, name, path, commit string) {
	t.Helper()
	dir := filepath.Join(s.folder, name+".git")
	output(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+commit+","+path)
	output(t, dir, "commit", "--quiet", "--message", "a submodule")
}
