package judges

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// Our script for CRDs replaces Argo CD's for all of them: without the label nobody may notice.
func TestForOtherCRDsArgoCDSaysWhatItAlwaysSaid(t *testing.T) {
	g := NewWithT(t)
	objects := map[string]map[string]any{}
	theirs, err := filepath.Glob(filepath.Join(argoCD(t), "resource_customizations/apiextensions.k8s.io", crd, "testdata/*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(theirs).NotTo(BeEmpty())
	for _, file := range theirs {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		object := map[string]any{}
		g.Expect(yaml.Unmarshal(content, &object)).To(Succeed())
		objects["theirs/"+filepath.Base(file)] = object
	}
	for _, f := range fixtures(t) {
		if f.Kind == crd {
			object, err := f.Object()
			g.Expect(err).NotTo(HaveOccurred())
			objects["ours/"+f.Name] = withoutLabels(object)
		}
	}
	compared := 0
	for name, object := range objects {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			want, err := asArgoCDShipsIt(object)
			if err != nil {
				return // theirs raises where a field is missing; ours must not
			}
			compared++
			g.Expect(inArgoCD(object, false)).To(Equal(want))
		})
	}
	g.Expect(compared).To(BeNumerically(">", 40))
}

func withoutLabels(object map[string]any) map[string]any {
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "labels")
	}
	return object
}

// TestUpstreamsOwnHarnessAcceptsTheFolder runs the tests Argo CD keeps its scripts with, as they are, on our folder: a
// copy of its package util/lua, in a module in which resource_customizations is ours.
func TestUpstreamsOwnHarnessAcceptsTheFolder(t *testing.T) {
	g := NewWithT(t)
	module := t.TempDir()
	copyFile(t, "go.sum", filepath.Join(module, "go.sum"), nil)
	here, err := filepath.Abs("../..")
	g.Expect(err).NotTo(HaveOccurred())
	copyFile(t, "go.mod", filepath.Join(module, "go.mod"), strings.NewReplacer("=> ../..\n", "=> "+here+"\n", "=> ../../health", "=> "+here+"/health"))

	sources, err := filepath.Glob(filepath.Join(argoCD(t), "util/lua/*.go"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, source := range sources {
		copyFile(t, source, filepath.Join(module, "util/lua", filepath.Base(source)),
			strings.NewReplacer(`"github.com/argoproj/argo-cd/v3/resource_customizations"`, `"github.com/moult-dev/moult/test/lua/resource_customizations"`))
	}
	ours := filepath.Join(module, "resource_customizations")
	g.Expect(os.CopyFS(ours, os.DirFS(luaFolder))).To(Succeed())
	g.Expect(os.RemoveAll(filepath.Join(ours, "generate"))).To(Succeed())
	code, err := filepath.Glob(filepath.Join(ours, "*.go"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range code { // theirs is a package of another name
		g.Expect(os.Remove(file)).To(Succeed())
	}
	copyFile(t, filepath.Join(argoCD(t), "resource_customizations/embed.go"), filepath.Join(ours, "embed.go"), nil)

	harness := exec.CommandContext(t.Context(), "go", "test", "-v", "-run", "^(TestLuaHealthScript|TestLuaResourceActionsScript)$", "./util/lua")
	harness.Dir = module
	harness.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := harness.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	for _, ran := range []string{
		"moult.dev/VersionRemoval/testdata/objects-are-being-rewritten.yaml", "testdata/all-objects-are-proved-to-be-migrated.yaml",
		"discovery/testdata/paused.yaml", "actions/pause/testdata/plain.yaml",
	} {
		g.Expect(string(out)).To(MatchRegexp("--- PASS: .*" + ran))
	}
}

// argoCD is the folder with the sources of the pinned Argo CD.
func argoCD(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3").Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(out))
}

func copyFile(t *testing.T, from, to string, changes *strings.Replacer) {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(from)
	g.Expect(err).NotTo(HaveOccurred())
	text := string(content)
	if changes != nil {
		text = changes.Replace(text)
	}
	g.Expect(os.MkdirAll(filepath.Dir(to), 0o755)).To(Succeed())
	g.Expect(os.WriteFile(to, []byte(text), 0o644)).To(Succeed())
}
