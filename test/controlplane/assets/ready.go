package assets

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// setupEnvtestModule pins the tool that fetches ready-made programs.
const setupEnvtestModule = "test/tools/setup-envtest"

// SetupEnvtest is the module, absolute, whose tool of that name fetches ready-made programs.
func SetupEnvtest() (moduleDir string, err error) {
	root, err := Root()
	return filepath.Join(root, setupEnvtestModule), err
}

// Fetched is the folder in the cache for what setup-envtest has fetched for us. It is laid out as that tool's own store
// is: k8s/<version>-<os>-<arch>.
func Fetched() (string, error) {
	cache, err := cacheDir()
	return filepath.Join(cache, "moult", "control-plane", "fetched"), err
}

// SetupEnvtestStore is the folder in which setup-envtest keeps what a person has fetched with it for other projects.
func SetupEnvtestStore() string {
	home := os.Getenv("HOME")
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "io.kubebuilder.envtest")
	}
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "kubebuilder-envtest")
}

// In lists the folders of a store whose names promise one of the minor versions for this machine, the newest first.
func In(store string, minors []string) []Assets {
	platform := "-" + runtime.GOOS + "-" + runtime.GOARCH
	folders, _ := filepath.Glob(filepath.Join(store, "k8s", "*"+platform)) // the pattern is well formed
	version := func(folder string) string { return "v" + strings.TrimSuffix(filepath.Base(folder), platform) }
	folders = slices.DeleteFunc(folders, func(folder string) bool { return !Supported(version(folder), minors) })
	slices.SortFunc(folders, func(a, b string) int { return semver.Compare(version(b), version(a)) })
	found := make([]Assets, 0, len(folders))
	for _, folder := range folders {
		found = append(found, Assets{Dir: folder, Programs: []Program{etcd, apiserver}, Given: true})
	}
	return found
}

// Supported reports whether a version such as v1.36.3 belongs to one of the minor versions, such as 1.36.
func Supported(version string, minors []string) bool {
	return slices.Contains(minors, strings.TrimPrefix(semver.MajorMinor(version), "v"))
}

// answerWithin bounds how long a program takes to say its version, on a machine that is busy with other things.
const answerWithin = 20 * time.Second

// Version is that of kube-apiserver, such as v1.36.3, by its own word. The error names a program that is missing, was
// written by halves, or is for another kind of machine.
func (a Assets) Version(ctx context.Context) (string, error) {
	if missing := a.Missing(); len(missing) > 0 {
		return "", fmt.Errorf("no %s there", missing[0].Name)
	}
	if _, err := a.ask(ctx, etcd); err != nil {
		return "", err
	}
	answer, err := a.ask(ctx, apiserver)
	if err != nil {
		return "", err
	}
	words := strings.Fields(answer) // Kubernetes v1.36.3
	if len(words) != 2 || !semver.IsValid(words[1]) {
		return "", fmt.Errorf("kube-apiserver --version answers %q", answer)
	}
	return words[1], nil
}

// ask is what a program answers to --version.
func (a Assets) ask(ctx context.Context, p Program) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	answer, err := exec.CommandContext(ctx, a.Path(p), "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s does not run: %w", p.Name, err)
	}
	return string(bytes.TrimSpace(answer)), nil
}
