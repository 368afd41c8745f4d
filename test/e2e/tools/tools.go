// Package tools finds the programs that the end-to-end tests run: `make e2e-tools` builds them into the user's cache
// folder, from the modules under test/tools, which pin their versions. Nothing is built here.
package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Tool is one program, built and ready to run.
type Tool struct {
	// Binary is the program's file.
	Binary string
	// Version is the module's version, as in v1.2.3.
	Version string
	// Source is the folder of the module's source, where its manifests lie.
	Source string
}

// ArgoCD is all of Argo CD in one program; ARGOCD_BINARY_NAME in its environment says which server it is.
func ArgoCD() (Tool, error) { return find("e2e", "argocd", "github.com/argoproj/argo-cd/v3", "argocd") }

// Kustomize is what Argo CD's repo server renders a kustomization with.
func Kustomize() (Tool, error) {
	return find("e2e", "kustomize", "sigs.k8s.io/kustomize/kustomize/v5", "kustomize")
}

// Kubectl is of the API server's own version.
func Kubectl() (Tool, error) { return find("e2e", "kubectl", "k8s.io/kubernetes", "kubectl") }

// KustomizeController is Flux' controller of Kustomizations.
func KustomizeController() (Tool, error) {
	return find("e2e", "flux", "github.com/fluxcd/kustomize-controller", "kustomize-controller")
}

// HelmController is Flux' controller of HelmReleases.
func HelmController() (Tool, error) {
	return find("e2e", "helm-controller", "github.com/fluxcd/helm-controller", "helm-controller")
}

// Helm is what kustomize renders charts with.
func Helm() (Tool, error) { return find("tools", "helm", "helm.sh/helm/v4", "helm") }

// SourceController is the source folder of Flux' source-controller, wanted for its CRDs alone: its module can be
// downloaded but not built, so its version lies in a file instead of a go.mod.
func SourceController() (string, error) {
	folder, err := moduleFolder("flux")
	if err != nil {
		return "", err
	}
	version, err := os.ReadFile(filepath.Join(folder, "source-controller.version"))
	if err != nil {
		return "", err
	}
	return Source("github.com/fluxcd/source-controller@" + strings.TrimSpace(string(version)))
}

// Source is the source folder of a module at a version, as in example.com/module@v1.2.3, which need not build. It is
// downloaded if it is not there.
func Source(module string) (string, error) {
	folder, err := moduleFolder("flux")
	if err != nil {
		return "", err
	}
	var found struct{ Dir string }
	if err := goJSON(folder, &found, "mod", "download", "-json", module); err != nil {
		return "", err
	}
	return found.Dir, nil
}

func find(built, folder, path, binary string) (Tool, error) {
	folder, err := moduleFolder(folder)
	if err != nil {
		return Tool{}, err
	}
	var module struct{ Version, Dir string }
	if err := goJSON(folder, &module, "list", "-m", "-json", path); err != nil {
		return Tool{}, err
	}
	cache, err := cacheFolder(built)
	if err != nil {
		return Tool{}, err
	}
	build := strings.Join([]string{binary, module.Version, runtime.GOOS, runtime.GOARCH}, "-")
	tool := Tool{Binary: filepath.Join(cache, build, binary), Version: module.Version, Source: module.Dir}
	if _, err := os.Stat(tool.Binary); err != nil || tool.Source == "" {
		return Tool{}, fmt.Errorf("%s %s is not built in %s: run 'make e2e-tools', which builds it once", binary, module.Version, cache)
	}
	return tool, nil
}

// moduleFolder walks up from the working folder, which is a package's own folder while its tests run.
func moduleFolder(name string) (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		candidate := filepath.Join(dir, "test", "tools", name)
		if _, err := os.Stat(filepath.Join(candidate, "go.mod")); err == nil {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("no test/tools/%s above %s: run inside the repository", name, start)
}

// cacheFolder is one of those that test/tools/tools.mk builds into.
func cacheFolder(built string) (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no cache folder with the built tools: %w; set HOME or XDG_CACHE_HOME", err)
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "moult", built), nil
}

// goJSON runs the go command in a folder and decodes what it prints.
func goJSON(folder string, into any, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	output, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			output = append(output, exit.Stderr...)
		}
		return fmt.Errorf("go %s in %s: %w: %s", strings.Join(args, " "), folder, err, output)
	}
	return json.Unmarshal(output, into)
}
