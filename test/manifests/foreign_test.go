package manifests

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/mod/modfile"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// foreign are the modules whose source holds CRDs of other projects that our manifests use.
var foreign = []struct {
	module  string
	version func(Gomega) string
	crds    string // a pattern below the module's folder
}{
	{"github.com/fluxcd/kustomize-controller", pinned("flux", "github.com/fluxcd/kustomize-controller"), "config/crd/bases/*.yaml"},
	{"github.com/fluxcd/source-controller", inFile("flux/source-controller.version"), "config/crd/bases/*gitrepositories.yaml"},
	{"github.com/argoproj/argo-cd/v3", pinned("argocd", "github.com/argoproj/argo-cd/v3"), "manifests/crds/application*-crd.yaml"},
	{"github.com/prometheus-operator/prometheus-operator", func(Gomega) string { return "v0.85.0" }, "example/prometheus-operator-crd/*_[ps]*.yaml"},
}

// pinned is the version that the go.mod in a folder of test/tools requires.
func pinned(folder, module string) func(Gomega) string {
	return func(g Gomega) string {
		file := filepath.Join(root, "test/tools", folder, "go.mod")
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		parsed, err := modfile.Parse(file, content, nil)
		g.Expect(err).NotTo(HaveOccurred())
		for _, require := range parsed.Require {
			if require.Mod.Path == module {
				return require.Mod.Version
			}
		}
		g.Expect(module).To(BeEmpty(), "%s does not require it", file)
		return ""
	}
}

func inFile(name string) func(Gomega) string {
	return func(g Gomega) string {
		content, err := os.ReadFile(filepath.Join(root, "test/tools", name))
		g.Expect(err).NotTo(HaveOccurred())
		return strings.TrimSpace(string(content))
	}
}

// installForeign installs other projects' CRDs, from the sources that the Go module proxy has of them.
func installForeign(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	for _, project := range foreign {
		files, err := filepath.Glob(filepath.Join(download(t.Context(), g, project.module+"@"+project.version(g)), project.crds))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(files).NotTo(BeEmpty(), project.module)
		for _, file := range files {
			content, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			crd := &apiextensionsv1.CustomResourceDefinition{}
			g.Expect(yaml.Unmarshal(content, crd)).To(Succeed())
			install(t, crd)
		}
	}
}

// install installs a CRD unless it is there.
func install(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(client.IgnoreAlreadyExists(running.Client(t, cp.Config).Create(t.Context(), crd))).To(Succeed())
	g.Expect(builders.WaitServed(t.Context(), cp.Config, crd)).To(Succeed())
}

// download is the folder of a module's source. The module need not build.
func download(ctx context.Context, g Gomega, module string) string {
	var found struct{ Dir, Error string }
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	out, err := command.Output()
	g.Expect(json.Unmarshal(out, &found)).To(Succeed(), string(out))
	g.Expect(err).NotTo(HaveOccurred(), found.Error)
	return found.Dir
}
