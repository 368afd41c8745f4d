package desired_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
)

// files are a repository, by path.
type files map[string]string

// opened is a tree of files.
func opened(t *testing.T, f files) *repository.Tree {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	for name, content := range f {
		file := filepath.Join(dir, name)
		g.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
	}
	opened, err := repository.Open(t.Context(), dir)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(opened.Close()).To(Succeed()) })
	return opened
}

// followed is what the entry point "entry" leads to.
func followed(t *testing.T, f files) *delivery.Cluster {
	t.Helper()
	c, err := desired.Follow(t.Context(), opened(t, f), "entry", desired.Options{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

func configMap(name string, data ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {" + strings.Join(data, ", ") + "}\n---\n"
}

func crd(name string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + "}\nspec: {versions: [{name: v1}]}\n---\n"
}

// flux is a Kustomization; the spec is in flow style, without braces.
func flux(name, spec string) string {
	return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + name + ", namespace: flux-system}\nspec: {" + spec + "}\n---\n"
}

// app is an Application.
func app(name, spec string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\nspec: {" + spec + "}\n---\n"
}

// units are the names of the units, with those of their objects.
func units(c *delivery.Cluster) []string {
	var found []string
	for _, u := range c.Units {
		line := u.Name + ":"
		for _, object := range u.Objects {
			line += " " + object.GetName()
		}
		switch {
		case u.Err != nil:
			line += " error"
		case u.Unseen != "":
			line += " (" + u.Unseen + ")"
		}
		found = append(found, line)
	}
	return found
}

// findings are rules with severities and places.
func findings(c *delivery.Cluster) []string {
	var found []string
	for _, f := range c.Findings {
		found = append(found, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Rule, f.Severity, f.Place)))
	}
	return found
}

func TestWhatAnEntryPointLeadsTo(t *testing.T) {
	const kustomization = "resources: [x.yaml]\n"
	for name, c := range map[string]struct {
		files    files
		units    []string
		findings []string
	}{
		"manifests and nothing else": {
			files{"entry/x.yaml": configMap("x")},
			[]string{"entry: x"}, nil,
		},
		"a Kustomization that applies Kustomizations": {
			files{"entry/a.yaml": flux("a", "path: ./apps"), "apps/b.yaml": flux("b", "path: ./deploy/b") + flux("c", "path: deploy/c"), "deploy/b/x.yaml": configMap("x"), "deploy/c/y.yaml": configMap("y")},
			[]string{"entry: a", "flux-system/a: b c", "flux-system/b: x", "flux-system/c: y"}, nil,
		},
		"an Application that applies Applications": {
			files{"entry/a.yaml": app("a", "source: {path: apps}"), "apps/b.yaml": app("b", "source: {path: deploy/b}"), "deploy/b/x.yaml": configMap("x")},
			[]string{"entry: a", "argocd/a: b", "argocd/b: x"}, nil,
		},
		"both tools": {
			files{"entry/a.yaml": flux("a", "path: ./apps"), "apps/b.yaml": app("b", "source: {path: deploy}"), "deploy/x.yaml": configMap("x")},
			[]string{"entry: a", "flux-system/a: b", "argocd/b: x"}, nil,
		},
		"a circle": {
			files{"entry/a.yaml": flux("a", "path: ./one"), "one/b.yaml": flux("b", "path: ./two"), "two/a.yaml": flux("a", "path: ./one") + flux("b", "path: ./two")},
			[]string{"entry: a", "flux-system/a: b", "flux-system/b: a b"}, nil,
		},
		"a cluster that applies itself, as flux bootstrap makes it": {
			files{"entry/flux-system/sync.yaml": flux("flux-system", "path: ./entry, prune: true"), "entry/flux-system/kustomization.yaml": "resources: [sync.yaml]\n", "entry/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x")},
			[]string{"flux-system/flux-system: a flux-system", "flux-system/a: x"}, nil,
		},
		"one that cannot be built": {
			files{"entry/a.yaml": flux("a", "path: ./a") + flux("b", "path: ./b"), "a/kustomization.yaml": kustomization, "b/x.yaml": configMap("x")},
			[]string{"entry: a b", "flux-system/a: error", "flux-system/b: x"}, []string{"BuildFailed error entry/a.yaml:4"},
		},
		"a folder that is not there": {
			files{"entry/a.yaml": flux("a", "path: ./missing")},
			[]string{"entry: a", "flux-system/a: (there is no folder ./missing in this repository)"}, nil,
		},
		"a folder outside": {
			files{"entry/a.yaml": flux("a", "path: ../../../../../../../../etc")},
			[]string{"entry: a", "flux-system/a: (there is no folder ../../../../../../../../etc in this repository)"}, nil,
		},
		"an OCI artifact": {
			files{"entry/a.yaml": flux("a", "path: ./entry, sourceRef: {kind: OCIRepository, name: x}")},
			[]string{"entry: a", "flux-system/a: (it comes from OCIRepository x)"}, nil,
		},
		"another cluster": {
			files{"entry/a.yaml": flux("a", "path: ./a, kubeConfig: {secretRef: {name: x}}"), "a/x.yaml": configMap("x")},
			[]string{"entry: a", "flux-system/a: (it is applied to another cluster (spec.kubeConfig))"}, nil,
		},
		"the same CRD from two": {
			files{"entry/a.yaml": flux("a", "path: ./a") + flux("b", "path: ./b"), "a/x.yaml": crd("x.example.com"), "b/x.yaml": crd("x.example.com")},
			[]string{"entry: a b", "flux-system/a: x.example.com", "flux-system/b: x.example.com"}, []string{"AppliedTwice warning b/x.yaml:1"},
		},
		"the same CRD twice in one": {
			files{"entry/a.yaml": app("a", "source: {path: a}"), "a/x.yaml": crd("x.example.com") + crd("x.example.com")},
			[]string{"entry: a", "argocd/a: x.example.com x.example.com"}, //nolint:dupword // it is there twice
			[]string{"AppliedTwice warning a/x.yaml:6"},
		},
		"an entry point with files that are no manifests": {
			files{"entry/a.yaml": app("a", "source: {path: a}"), "entry/values.yaml": "replicas: 1\n", "a/x.yaml": configMap("x")},
			[]string{"entry: a", "argocd/a: x"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := followed(t, c.files)
			g.Expect(units(cluster)).To(Equal(c.units))
			g.Expect(findings(cluster)).To(Equal(c.findings))
			for _, f := range cluster.Findings {
				g.Expect(f.Why).NotTo(ContainSubstring(os.TempDir()), "nobody knows that folder")
			}
		})
	}
}

func TestAUnitSaysHowItIsApplied(t *testing.T) {
	g := NewWithT(t)
	c := followed(t, files{
		"entry/a.yaml": flux("a", "path: ./a, prune: true, dependsOn: [{name: b}, {name: c, namespace: other}]") + flux("b", "path: ./b, suspend: true") +
			strings.Replace(app("d", "source: {path: d}, destination: {namespace: here}, syncPolicy: {automated: {prune: true}}"), "namespace: argocd", `namespace: argocd, annotations: {argocd.argoproj.io/skip-reconcile: "true"}`, 1),
		"a/x.yaml": configMap("x"), "b/x.yaml": configMap("x"),
		"d/e.yaml": strings.Replace(app("e", "source: {path: a}"), ", namespace: argocd", "", 1),
	})
	g.Expect(units(c)).To(Equal([]string{"entry: a b d", "flux-system/a: x", "flux-system/b: x", "argocd/d: e", "here/e: x"}))
	entry, a, b, d, e := c.Units[0], c.Units[1], c.Units[2], c.Units[3], c.Units[4]
	g.Expect(entry.Tool).To(BeEmpty())
	g.Expect(entry.By).To(BeNil())
	g.Expect(a.Parent).To(Equal(entry))
	g.Expect(e.Parent).To(Equal(d))
	g.Expect(a.DependsOn).To(Equal([]string{"flux-system/b", "other/c"}))
	g.Expect([]bool{a.Suspended, b.Suspended, d.Suspended, e.Suspended}).To(Equal([]bool{false, true, true, false}))
	g.Expect(a.Dirs).To(Equal([]string{"a"}))
	g.Expect(a.By.At("spec", "prune").String()).To(Equal("entry/a.yaml:4"))
	g.Expect(a.Objects[0].At("data").String()).To(Equal("a/x.yaml:4"))
}

func TestAnEntryPointIsFoundFromWhatWasOpenedOrFromTheRoot(t *testing.T) {
	g := NewWithT(t)
	all := opened(t, files{".git/HEAD": "", "sub/entry/a.yaml": flux("a", "path: ./apps") + flux("b", "path: ./own"), "apps/x.yaml": configMap("root"), "sub/apps/x.yaml": configMap("sub"), "sub/own/y.yaml": configMap("own"), "other/z.yaml": configMap("z")})
	sub, err := repository.Open(t.Context(), filepath.Join(all.Root, "sub"))
	g.Expect(err).NotTo(HaveOccurred())
	for entry, want := range map[string][]string{
		"entry":      {"entry: a b", "flux-system/a: root", "flux-system/b: own"},
		"sub/entry":  {"sub/entry: a b", "flux-system/a: root", "flux-system/b: own"},
		"other":      {"other: z"},
		"entry/":     {"entry/: a b", "flux-system/a: root", "flux-system/b: own"},
		"own/y.yaml": {"own/y.yaml: own"},
	} {
		c, err := desired.Follow(t.Context(), sub, entry, desired.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(units(c)).To(Equal(want), entry)
	}
	own, err := repository.Open(t.Context(), filepath.Join(all.Root, "sub", "own"))
	g.Expect(err).NotTo(HaveOccurred())
	c, err := desired.Follow(t.Context(), own, "", desired.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(units(c)).To(Equal([]string{own.Name + ": own"}))
	g.Expect(c.Units[0].Objects[0].At().String()).To(Equal("sub/own/y.yaml:1"))
}

func TestAnEntryPointThatCannotBeBuiltIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		files       files
		entry, says string
	}{
		"one that is not there":  {files{"a/x.yaml": ""}, "entry", "there is no entry point entry in"},
		"one outside":            {files{"a/x.yaml": ""}, "../..", "../.. is outside of"},
		"a broken kustomization": {files{"entry/kustomization.yaml": "resources: [missing.yaml]\n"}, "entry", "cannot be built"},
		"a broken file":          {files{"x.yaml": "a: b: c\n"}, "x.yaml", "is neither YAML nor JSON"},
		"no manifest, and folders that Flux would look into": {
			files{"entry/a.yaml": flux("a", "path: ./a"), "entry/values.yaml": "a: b\n", "entry/below/x.yaml": configMap("x"), "a/x.yaml": configMap("y")}, "entry", "values.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := desired.Follow(t.Context(), opened(t, c.files), c.entry, desired.Options{})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := desired.Follow(ctx, opened(t, files{"entry/x.yaml": configMap("x")}), "entry", desired.Options{})
	NewWithT(t).Expect(err).To(MatchError(context.Canceled))
}

func TestAStreamIsOneUnit(t *testing.T) {
	g := NewWithT(t)
	c, err := desired.Stream(t.Context(), "standard input", strings.NewReader(crd("b.example.com")+flux("a", "path: ./a")+crd("a.example.com")+crd("a.example.com")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(units(c)).To(Equal([]string{"standard input: b.example.com a a.example.com a.example.com"})) //nolint:dupword // it is there twice
	g.Expect(findings(c)).To(Equal([]string{"AppliedTwice warning standard input:16"}))
	var names []string
	for _, crd := range c.CRDs() {
		names = append(names, crd.GetName()+" "+crd.Unit.Name)
	}
	g.Expect(names).To(Equal([]string{"a.example.com standard input", "a.example.com standard input", "b.example.com standard input"}))
	_, err = desired.Stream(t.Context(), "x", strings.NewReader("a: b: c"))
	g.Expect(err).To(HaveOccurred())
}
