// Package rendering builds every kustomization that we ship with the programs that people have: kustomize, which is what
// Argo CD runs, and kubectl, for `kubectl apply -k`. test/manifests builds the same folders as Flux does, by the library,
// and has a real API server check what comes out; here it is shown that all of them build the same.
package rendering

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/kubectl"
	"github.com/moult-dev/moult/test/e2e/tools"
)

const root = "../../.."

// tops are the folders of the repository that people build from.
var tops = []string{"clusters", "examples", "policies"}

// scene is what Components find around them in real life.
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

func TestEveryKustomizationBuildsAlike(t *testing.T) {
	g := NewWithT(t)
	kustomize, err := tools.Kustomize()
	g.Expect(err).NotTo(HaveOccurred())
	k, err := kubectl.New(&rest.Config{Host: "https://127.0.0.1:1"}, t.TempDir()) // asks no server
	g.Expect(err).NotTo(HaveOccurred())
	programs := map[string]func(context.Context, string) (string, error){
		"kustomize build": func(ctx context.Context, dir string) (string, error) {
			command := exec.CommandContext(ctx, kustomize.Binary, "build", dir)
			out, err := command.Output()
			return string(out), err
		},
		"kubectl kustomize": func(ctx context.Context, dir string) (string, error) { return k.Run(ctx, "kustomize", dir) },
	}
	found := folders(t)
	for name, dir := range found {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			library, err := render.Folder(dir, render.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			wanted := map[string]string{}
			for _, object := range library.Objects {
				put(g, wanted, object.Unstructured)
			}
			g.Expect(wanted).To(HaveLen(len(library.Objects)), "no object is there twice")
			for program, build := range programs {
				built, err := build(t.Context(), dir)
				g.Expect(err).NotTo(HaveOccurred(), program)
				g.Expect(objects(g, built)).To(Equal(wanted), program)
			}
		})
	}
	g.Expect(found).To(And(HaveKey("clusters/base"), HaveKey("clusters/components/opt-in"), HaveKey("policies/admission/deny")), "one of each kind is found")
}

// objects are those of a manifest.
func objects(g *WithT, manifest string) map[string]string {
	all := map[string]string{}
	parsed, err := cluster.Parse([]byte(manifest))
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range parsed {
		put(g, all, object)
	}
	g.Expect(all).To(HaveLen(len(parsed)), "no object is there twice")
	return all
}

// put adds an object as JSON, in which numbers are numbers whoever has read them.
func put(g *WithT, all map[string]string, object *unstructured.Unstructured) {
	written, err := json.Marshal(object.Object)
	g.Expect(err).NotTo(HaveOccurred())
	all[fmt.Sprintf("%s %s/%s", object.GroupVersionKind(), object.GetNamespace(), object.GetName())] = string(written)
}

// folders are those with a kustomization, by their path in the repository; of a Component, one that lists it. They are found
// by walking, so that a new one cannot be forgotten.
func folders(t *testing.T) map[string]string {
	t.Helper()
	g := NewWithT(t)
	found := map[string]string{}
	for _, top := range tops {
		g.Expect(filepath.WalkDir(filepath.Join(root, top), func(dir string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil || !entry.IsDir():
				return err
			case entry.Name() == "testdata":
				return filepath.SkipDir
			}
			file := render.KustomizationIn(dir)
			if file == "" {
				return nil
			}
			name, err := filepath.Rel(root, dir)
			g.Expect(err).NotTo(HaveOccurred())
			found[name] = dir
			if isComponent(g, file) {
				found[name] = around(t, name)
			}
			return nil
		})).To(Succeed())
	}
	return found
}

func isComponent(g *WithT, file string) bool {
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var kustomization struct{ Kind string }
	g.Expect(yaml.Unmarshal(content, &kustomization)).To(Succeed(), file)
	return kustomization.Kind == "Component"
}

// around is a kustomization that lists a Component beside what it needs.
func around(t *testing.T, component string) string {
	t.Helper()
	g := NewWithT(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	project, err := filepath.Abs(root)
	g.Expect(err).NotTo(HaveOccurred())
	project, err = filepath.Rel(dir, project)
	g.Expect(err).NotTo(HaveOccurred())
	kustomization := strings.ReplaceAll("resources: [PROJECT/clusters/base, scene.yaml]\ncomponents: [PROJECT/"+component+"]\n", "PROJECT", project)
	g.Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "scene.yaml"), []byte(scene), 0o600)).To(Succeed())
	return dir
}
