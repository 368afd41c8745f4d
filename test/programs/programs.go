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
	"syscall"

	"golang.org/x/mod/sumdb/dirhash"
)

const (
	// EnvDir is the environment variable that names the folder of programs that were built already, another one in each run.
	EnvDir = "MOULT_PROGRAMS"
	// EnvSum is the one that holds their checksum. The same sources give the same one.
	EnvSum = "MOULT_PROGRAMS_SUM"
)

// Go takes the result of a run before if the environment variables are the same that the test has read with os.Getenv. It does
// not see what another process builds or reads. What TestMain reads before the tests does not count either, so tests call these.

// Anew makes every `make test` run the package's tests.
func Anew() { _ = os.Getenv(EnvDir) }

// Tested makes `make test` run the package's tests whenever moult or moult-controller has changed. Path, called by a test, does the same.
func Tested() { _ = os.Getenv(EnvSum) }

const module = "github.com/moult-dev/moult"

// Path is the file of a program, moult or moult-controller. It is built at the first call in a process.
func Path(name string) (string, error) {
	Tested()
	dir, err := dir()
	return filepath.Join(dir, name), err
}

var dir = sync.OnceValues(func() (string, error) {
	if dir, found := syscall.Getenv(EnvDir); found { // os.Getenv would be seen
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
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir, module+"/cmd/moult", module+"/cmd/moult-controller")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building moult and moult-controller: %w\n%s", err, out)
	}
	return nil
}

// Sum is the checksum of what Build has built into a folder.
func Sum(dir string) (string, error) {
	sum, err := dirhash.HashDir(dir, "", dirhash.Hash1)
	if err != nil {
		return "", fmt.Errorf("the checksum of moult and moult-controller: %w", err)
	}
	return sum, nil
}
