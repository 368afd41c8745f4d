package manifests

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/render"
)

// scene is what the Components of clusters/components find around them in real life: an installation, a ConfigMap of
// Argo CD, and a CRD.
const scene = `apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.scene.example.com
spec:
  group: scene.example.com
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema: {type: object}
`

// empty are folders that hold nothing on purpose.
var empty = []string{"examples/flux/crd-as-gate/migrated"}

// forTests are folders whose files are what a test reads, and not what somebody applies: fixtures are those of moult test conversion.
var forTests = []string{"testdata", "fixtures"}

// built are all folders with manifests under clusters and examples, by their path in the repository. They are found by
// walking, so that a new one cannot be forgotten, and built by Kustomize with Flux's options: one with a kustomization
// as it is, a Component in a kustomization around it, and one with neither by the manifests that lie in it.
func built(t *testing.T) map[string]*render.Rendering {
	t.Helper()
	once.Do(func() { buildAll(t) })
	return all
}

// Nothing changes them, so they are built once.
var (
	once sync.Once
	all  = map[string]*render.Rendering{}
)

func buildAll(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	for _, top := range []string{"clusters", "examples"} {
		g.Expect(filepath.WalkDir(filepath.Join(root, top), func(dir string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil || !entry.IsDir():
				return err
			case slices.Contains(forTests, entry.Name()), isChart(dir):
				return filepath.SkipDir
			}
			if rendering := buildFolder(t, dir); rendering != nil {
				name, err := filepath.Rel(root, dir)
				g.Expect(err).NotTo(HaveOccurred())
				all[name] = rendering
			}
			return nil
		})).To(Succeed())
	}
}

// isChart finds the folders whose files are for Helm. That they give the same objects is the chart's own test.
func isChart(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "Chart.yaml"))
	return err == nil
}

// buildFolder is nil for a folder whose manifests, if it has any, are another folder's to build.
func buildFolder(t *testing.T, dir string) *render.Rendering {
	t.Helper()
	g := NewWithT(t)
	file := render.KustomizationIn(dir)
	var wrap string
	switch {
	case file != "" && !isComponent(g, file):
		rendering, err := render.Folder(dir, render.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		return rendering
	case file != "":
		wrap = fmt.Sprintf("resources: [PROJECT/clusters/base, scene.yaml]\ncomponents: [PROJECT/%s]\n", below(g, dir))
	default:
		manifests := manifestsIn(g, dir)
		if len(manifests) == 0 {
			return nil
		}
		wrap = "resources:\n"
		for _, manifest := range manifests {
			wrap += fmt.Sprintf("- PROJECT/%s\n", below(g, manifest))
		}
	}
	around := write(t, map[string]string{"kustomization.yaml": wrap, "scene.yaml": scene})
	rendering, err := render.Folder(around, render.Options{})
	g.Expect(err).NotTo(HaveOccurred(), dir)
	return rendering
}

func isComponent(g Gomega, file string) bool {
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var kustomization struct{ Kind string }
	g.Expect(yaml.Unmarshal(content, &kustomization)).To(Succeed(), file)
	return kustomization.Kind == "Component"
}

// manifestsIn are the files of a plain folder, none if a kustomization above lists them.
func manifestsIn(g Gomega, dir string) []string {
	for above := dir; filepath.Clean(above) != filepath.Clean(root); above = filepath.Dir(above) {
		if render.KustomizationIn(above) != "" {
			return nil
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	return files
}

func below(g Gomega, path string) string {
	name, err := filepath.Rel(root, path)
	g.Expect(err).NotTo(HaveOccurred())
	return name
}

func TestEveryFolderBuilds(t *testing.T) {
	g := NewWithT(t)
	all := built(t)
	for name, rendering := range all {
		if !slices.Contains(empty, name) {
			g.Expect(rendering.Objects).NotTo(BeEmpty(), name)
		}
	}
	g.Expect(all).To(And(HaveKey("clusters/base"), HaveKey("clusters/components/nudge"), HaveKey("examples/flux/4-removal/crds")),
		"one of each kind is found: "+strings.Join(slices.Sorted(maps.Keys(all)), " "))
}

// A manifest that no kustomization lists is applied by nobody, and tested by nobody.
func TestEveryManifestIsBuilt(t *testing.T) {
	g := NewWithT(t)
	read := map[string]bool{}
	for _, rendering := range built(t) {
		for _, file := range rendering.Files {
			read[file] = true
		}
	}
	for _, top := range []string{"clusters", "examples"} {
		g.Expect(filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && (slices.Contains(forTests, entry.Name()) || isChart(path)) {
				err = filepath.SkipDir
			}
			absolute, absErr := filepath.Abs(path)
			g.Expect(absErr).NotTo(HaveOccurred())
			if filepath.Ext(path) == ".yaml" {
				g.Expect(read).To(HaveKey(absolute), "no kustomization lists it")
			}
			return err
		})).To(Succeed())
	}
}
