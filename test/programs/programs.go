// Package programs gives tests moult and moult-controller as people run them. `make test` builds both once for all packages
// and names their folder in EnvDir; without it each package builds its own.
package programs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// EnvDir is the environment variable that names the folder of programs that were built already.
const EnvDir = "MOULT_PROGRAMS"

// Anew, called by a test, makes every `make test` run the package's tests, because they depend on what Go's cache of test
// results does not see: sources that another process builds or reads. What TestMain reads before the tests does not count.
// Path, called by a test, does the same.
func Anew() { _ = os.Getenv(EnvDir) }

const module = "github.com/moult-dev/moult"

// Path is the file of a program, moult or moult-controller. It is built at the first call in a process.
func Path(name string) (string, error) {
	dir, err := dir()
	return filepath.Join(dir, name), err
}

var dir = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(EnvDir); dir != "" { // another one in each run, so that no result of a run before counts
		return dir, nil
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	dir := filepath.Join(string(bytes.TrimSpace(root)), "bin", "tests", filepath.Base(os.Args[0])) // bin is not committed
	return dir, Build(dir)
})

// Build builds both programs into a folder, stripped as a release is, and without the race detector.
func Build(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, module+"/cmd/moult", module+"/cmd/moult-controller")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building moult and moult-controller: %w\n%s", err, out)
	}
	return nil
}
