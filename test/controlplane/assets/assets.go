// Package assets says where the control plane's programs lie: kube-apiserver and etcd, built from their Go modules into
// the user's cache folder.
//
// The versions have one home each: the require lines of test/tools/controlplane/go.mod for the newest Kubernetes and for
// etcd, and those of test/tools/kubernetes/1.NN/go.mod for the older ones, of which EnvMinor chooses one. The folder's
// name carries them, so that raising a version builds anew, and every clone on a machine shares what was built once.
// Whoever sets KUBEBUILDER_ASSETS brings their own programs; then nothing is built and the versions are theirs.
package assets

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const (
	// EnvDir is the environment variable that names a folder with ready-made programs, as envtest knows it.
	EnvDir = "KUBEBUILDER_ASSETS"
	// EnvMinor is the environment variable that chooses the minor version of Kubernetes, for example 1.34. The default
	// is the newest.
	EnvMinor = "MOULT_KUBERNETES"
)

// Where the repository pins the versions, relative to its root.
const (
	newestModule = "test/tools/controlplane"
	olderModules = "test/tools/kubernetes"
)

const (
	kubernetes = "k8s.io/kubernetes"
	etcdServer = "go.etcd.io/etcd/server/v3"
)

var (
	etcd      = Program{Name: "etcd", Package: etcdServer}
	apiserver = Program{Name: "kube-apiserver", Package: kubernetes + "/cmd/kube-apiserver"}
)

// Assets is a folder of programs, present or still to be built.
type Assets struct {
	// Dir is the folder, absolute.
	Dir string
	// Programs are all that belong into it.
	Programs []Program
	// Given is true when Dir was given by EnvDir: then nothing is built or removed.
	Given bool
}

// Program is one executable of the control plane.
type Program struct {
	// Name is the file name inside the folder.
	Name string
	// Package is the Go import path of its main package.
	Package string
	// ModuleDir is the Go module it is built from, absolute, and Version the version that the module pins. Both are
	// empty when the folder was given by EnvDir.
	ModuleDir, Version string
}

// Locate finds the folder: the one EnvDir names, or the one in the cache that belongs to the pinned versions, for the
// minor version that EnvMinor names. It must run somewhere inside the repository unless EnvDir is set.
func Locate() (Assets, error) {
	minor, given := os.Getenv(EnvMinor), os.Getenv(EnvDir)
	switch {
	case given == "":
		return Of(minor)
	case minor != "":
		return Assets{}, fmt.Errorf("%s and %s are both set, and only one can choose the control plane: unset one of them", EnvDir, EnvMinor)
	}
	dir, err := filepath.Abs(given)
	return Assets{Dir: dir, Programs: []Program{etcd, apiserver}, Given: true}, err
}

// Of finds the folder in the cache for a minor version of Kubernetes, or for the newest if minor is empty.
func Of(minor string) (Assets, error) {
	pins, err := findPins()
	if err != nil {
		return Assets{}, err
	}
	etcd, apiserver := etcd, apiserver
	etcd.ModuleDir, etcd.Version = pins.newest, pins.etcd
	if apiserver.ModuleDir, apiserver.Version, err = pins.kubernetes(minor); err != nil {
		return Assets{}, err
	}
	cache, err := cacheDir()
	if err != nil {
		return Assets{}, err
	}
	name := fmt.Sprintf("kubernetes-%s-etcd-%s-%s-%s", apiserver.Version, etcd.Version, runtime.GOOS, runtime.GOARCH)
	return Assets{Dir: filepath.Join(cache, "moult", "control-plane", name), Programs: []Program{etcd, apiserver}}, nil
}

// controllerManagerModule is where the repository pins kube-controller-manager, relative to its root.
const controllerManagerModule = "test/tools/kube-controller-manager"

// ControllerManager is the kube-controller-manager that `make kube-controller-manager` has built. The error tells to run that.
func ControllerManager() (binary string, err error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	version, err := pinned(filepath.Join(root, controllerManagerModule), kubernetes)
	if err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	folder := fmt.Sprintf("%s-%s-%s", version, runtime.GOOS, runtime.GOARCH)
	binary = filepath.Join(cache, "moult", "kube-controller-manager", folder, "kube-controller-manager")
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("no %s: run 'make kube-controller-manager', which builds it once", binary)
	}
	return binary, nil
}

// Minors are the minor versions of Kubernetes that EnvMinor can choose, the oldest first.
func Minors() ([]string, error) {
	pins, err := findPins()
	if err != nil {
		return nil, err
	}
	return pins.minors(), nil
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
	case a.Given:
		return fmt.Errorf("no %s in %s: unset %s to use the programs that 'make control-plane' builds", missing[0].Name, a.Dir, EnvDir)
	default:
		return fmt.Errorf("no %s in %s: run '%smake control-plane', which builds it once", missing[0].Name, a.Dir, chosen())
	}
}

// chosen is how a command line repeats the choice of EnvMinor.
func chosen() string {
	if minor := os.Getenv(EnvMinor); minor != "" {
		return EnvMinor + "=" + minor + " "
	}
	return ""
}

// pins are the versions that the repository pins.
type pins struct {
	newest string            // the module of the newest Kubernetes and of etcd, absolute
	etcd   string            // its version
	byDir  map[string]string // modules, absolute, to the version of Kubernetes that each pins
}

func findPins() (pins, error) {
	root, err := Root()
	if err != nil {
		return pins{}, err
	}
	found := pins{newest: filepath.Join(root, newestModule), byDir: map[string]string{}}
	if found.etcd, err = pinned(found.newest, etcdServer); err != nil {
		return pins{}, err
	}
	older, err := filepath.Glob(filepath.Join(root, olderModules, "*", "go.mod"))
	if err != nil {
		return pins{}, err
	}
	for _, module := range append(older, filepath.Join(found.newest, "go.mod")) {
		dir := filepath.Dir(module)
		if found.byDir[dir], err = pinned(dir, kubernetes); err != nil {
			return pins{}, err
		}
	}
	return found, nil
}

// kubernetes is the module of a minor version and the version that it pins; of the newest if minor is empty.
func (p pins) kubernetes(minor string) (dir, version string, err error) {
	if minor == "" {
		return p.newest, p.byDir[p.newest], nil
	}
	for dir, version := range p.byDir {
		if semver.MajorMinor(version) == "v"+minor {
			return dir, version, nil
		}
	}
	return "", "", fmt.Errorf("no Kubernetes %q is pinned: choose one of %s, or add a module to %s", minor, strings.Join(p.minors(), ", "), olderModules)
}

func (p pins) minors() []string {
	versions := make([]string, 0, len(p.byDir))
	for _, version := range p.byDir {
		versions = append(versions, semver.MajorMinor(version))
	}
	slices.SortFunc(versions, semver.Compare)
	for i := range versions {
		versions[i] = strings.TrimPrefix(versions[i], "v")
	}
	return versions
}

// Root is the repository's folder. It walks up from the working folder, which is a package's own folder while its tests run.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, newestModule, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no %s above %s: run inside the repository or set %s", newestModule, start, EnvDir)
		}
	}
}

// pinned is the version of a dependency that a module requires.
func pinned(dir, dependency string) (string, error) {
	goMod := filepath.Join(dir, "go.mod")
	content, err := os.ReadFile(goMod)
	if err != nil {
		return "", err
	}
	file, err := modfile.ParseLax(goMod, content, nil)
	if err != nil {
		return "", err
	}
	for _, r := range file.Require {
		if r.Mod.Path == dependency {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s pins no version of %s: restore its tool lines", goMod, dependency)
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
