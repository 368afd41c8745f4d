// Package assets says where the control plane's programs lie: kube-apiserver and etcd, built from their Go modules into
// the user's cache folder.
//
// The versions have one home, the require lines of test/tools/controlplane/go.mod. The folder's name carries them, so
// that raising a version builds anew, and every clone on a machine shares what was built once. Whoever sets
// KUBEBUILDER_ASSETS brings their own programs; then nothing is built and the versions are theirs.
package assets

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/mod/modfile"
)

// EnvDir is the environment variable that names a folder with ready-made programs, as envtest knows it.
const EnvDir = "KUBEBUILDER_ASSETS"

// modulePath is where the repository pins the versions, relative to its root.
const modulePath = "test/tools/controlplane"

// Assets is a folder of programs, present or still to be built.
type Assets struct {
	// Dir is the folder, absolute.
	Dir string
	// Programs are all that belong into it.
	Programs []Program
	// ModuleDir is the Go module they are built from, absolute; empty when Dir was given by EnvDir.
	ModuleDir string
}

// Program is one executable of the control plane.
type Program struct {
	// Name is the file name inside the folder.
	Name string
	// Package is the Go import path of its main package.
	Package string
	// Version is the module version it is built from; empty when the folder was given by EnvDir.
	Version string
}

// Locate finds the folder: the one EnvDir names, or the one in the cache that belongs to the pinned versions.
// It must run somewhere inside the repository unless EnvDir is set.
func Locate() (Assets, error) {
	etcd := Program{Name: "etcd", Package: "go.etcd.io/etcd/server/v3"}
	apiserver := Program{Name: "kube-apiserver", Package: "k8s.io/kubernetes/cmd/kube-apiserver"}
	if given := os.Getenv(EnvDir); given != "" {
		dir, err := filepath.Abs(given)
		return Assets{Dir: dir, Programs: []Program{etcd, apiserver}}, err
	}

	module, err := findModule()
	if err != nil {
		return Assets{}, err
	}
	versions, err := pinnedVersions(filepath.Join(module, "go.mod"))
	if err != nil {
		return Assets{}, err
	}
	etcd.Version = versions["go.etcd.io/etcd/server/v3"]
	apiserver.Version = versions["k8s.io/kubernetes"]
	if etcd.Version == "" || apiserver.Version == "" {
		return Assets{}, fmt.Errorf("%s/go.mod pins no version of k8s.io/kubernetes or of go.etcd.io/etcd/server/v3: restore its tool lines", module)
	}

	cache, err := cacheDir()
	if err != nil {
		return Assets{}, err
	}
	name := fmt.Sprintf("kubernetes-%s-etcd-%s-%s-%s", apiserver.Version, etcd.Version, runtime.GOOS, runtime.GOARCH)
	return Assets{
		Dir:       filepath.Join(cache, "moult", "control-plane", name),
		Programs:  []Program{etcd, apiserver},
		ModuleDir: module,
	}, nil
}

// Path is the program's file.
func (a Assets) Path(p Program) string { return filepath.Join(a.Dir, p.Name) }

// Missing lists the programs that are not there yet.
func (a Assets) Missing() []Program {
	var missing []Program
	for _, p := range a.Programs {
		if _, err := os.Stat(a.Path(p)); err != nil {
			missing = append(missing, p)
		}
	}
	return missing
}

// Check is nil when every program is there; otherwise its error tells how to get them.
func (a Assets) Check() error {
	missing := a.Missing()
	switch {
	case len(missing) == 0:
		return nil
	case a.ModuleDir == "":
		return fmt.Errorf("no %s in %s: unset %s to use the programs that 'make control-plane' builds", missing[0].Name, a.Dir, EnvDir)
	default:
		return fmt.Errorf("no %s in %s: run 'make control-plane', which builds it once", missing[0].Name, a.Dir)
	}
}

// findModule walks up from the working folder, which is a package's own folder while its tests run.
func findModule() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		candidate := filepath.Join(dir, modulePath)
		if _, err := os.Stat(filepath.Join(candidate, "go.mod")); err == nil {
			return candidate, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no %s above %s: run inside the repository or set %s", modulePath, start, EnvDir)
		}
	}
}

func pinnedVersions(goMod string) (map[string]string, error) {
	content, err := os.ReadFile(goMod)
	if err != nil {
		return nil, err
	}
	file, err := modfile.ParseLax(goMod, content, nil)
	if err != nil {
		return nil, err
	}
	versions := make(map[string]string, len(file.Require))
	for _, r := range file.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return versions, nil
}

// cacheDir is ~/.cache on every system, unlike os.UserCacheDir, so that the documentation can name one place.
func cacheDir() (string, error) {
	if xdg := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(xdg) {
		return xdg, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder for the control plane: %w; set HOME or XDG_CACHE_HOME", err)
	}
	return filepath.Join(home, ".cache"), nil
}
