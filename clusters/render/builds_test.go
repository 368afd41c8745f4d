package render

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kustomize/api/types"
)

// twoTrees writes two states of a repository. A content that begins with link: is a symbolic link.
func twoTrees(t *testing.T, common, base, head map[string]string) (trees [2]string) {
	t.Helper()
	g := NewWithT(t)
	for i, own := range []map[string]string{base, head} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		g.Expect(err).NotTo(HaveOccurred())
		trees[i] = dir
		all := maps.Clone(common)
		maps.Copy(all, own)
		for name, content := range all {
			file := filepath.Join(dir, name)
			g.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
			if target, isLink := strings.CutPrefix(content, "link:"); isLink {
				g.Expect(os.Symlink(target, file)).To(Succeed())
				continue
			}
			g.Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
		}
	}
	return trees
}

// whatItIs is all that a build says, with paths from the root of its tree.
func whatItIs(r *Rendering, root string) string {
	var s strings.Builder
	s.WriteString(text(r))
	for _, object := range r.Objects {
		s.WriteString(object.Place("data").String() + "\n")
	}
	s.WriteString(strings.Join(r.Files, "\n"))
	return strings.ReplaceAll(s.String(), root, "")
}

// What is built of the same files is built once, and whatever a build depends on makes it another one.
func TestOnlyWhatIsBuiltOfTheSameFilesIsShared(t *testing.T) {
	plain := map[string]string{"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": configMap("a"), "over/kustomization.yaml": "resources: [../base]\nnamePrefix: p-\n"}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(plain)
		maps.Copy(all, more)
		return all
	}
	for name, c := range map[string]struct {
		common, base, head map[string]string
		dir                string
		options            func(root string) Options
		shared             bool
	}{
		"nothing differs":                           {common: plain, shared: true},
		"what nothing reads differs":                {common: plain, base: map[string]string{"base/b.yaml": configMap("b")}, shared: true},
		"a file of the base":                        {common: plain, head: map[string]string{"base/a.yaml": configMap("c")}},
		"the base's kustomization":                  {common: plain, head: map[string]string{"base/kustomization.yaml": "resources: [a.yaml]\nnameSuffix: -s\n"}},
		"a second kustomization, which is an error": {common: plain, head: map[string]string{"base/kustomization.yml": "resources: [a.yaml]\n"}},
		"a link that leads elsewhere":               {common: with(map[string]string{"x/kustomization.yaml": "resources: [../y/a.yaml]\n", "y/a.yaml": configMap("y"), "in/x/kustomization.yaml": "resources: [../y/a.yaml]\n", "in/y/a.yaml": configMap("z")}), base: map[string]string{"over2": "link:x"}, head: map[string]string{"over2": "link:in/x"}, dir: "over2"},
		"what a link leads to":                      {common: map[string]string{"over/kustomization.yaml": "resources: [a.yaml]\n", "over/a.yaml": "link:../real/a.yaml"}, base: map[string]string{"real/a.yaml": configMap("a")}, head: map[string]string{"real/a.yaml": configMap("b")}},
		"a component of the tool":                   {common: with(map[string]string{"c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [x.yaml]\n"}), base: map[string]string{"c/x.yaml": configMap("x")}, head: map[string]string{"c/x.yaml": configMap("y")}, options: func(string) Options { return Options{Components: []string{"../c"}} }},
		"a component of the tool that is missing":   {common: plain, head: map[string]string{"c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -s\n"}, options: func(string) Options { return Options{Components: []string{"../c"}, IgnoreMissingComponents: true} }},
		"a patch of the tool in a file": {common: plain, base: map[string]string{"over/p.yaml": "- {op: add, path: /data/b, value: c}\n"}, head: map[string]string{"over/p.yaml": "- {op: add, path: /data/b, value: d}\n"}, options: func(string) Options {
			return Options{Patches: []types.Patch{{Path: "p.yaml", Target: &types.Selector{}}}}
		}},
		"a folder without a kustomization": {common: map[string]string{"over/a.yaml": configMap("a")}, shared: true},
		"a file more of such a folder":     {common: map[string]string{"over/a.yaml": configMap("a")}, head: map[string]string{"over/b/b.yaml": configMap("b")}},
		"a kustomization in such a folder": {common: map[string]string{"over/a.yaml": configMap("a"), "over/b/x.yaml": configMap("b"), "over/b/kustomization.yaml": "resources: [x.yaml, ../../e/z.yaml]\n"}, base: map[string]string{"e/z.yaml": configMap("z")}, head: map[string]string{"e/z.yaml": configMap("zz")}},
		"a file that is left out": {common: map[string]string{"over/a.yaml": configMap("a")}, base: map[string]string{"over/b.yaml": configMap("b")}, head: map[string]string{"over/b.yaml": "# leave out\n" + configMap("b")}, options: func(string) Options {
			return Options{LeaveOut: func(_ string, content []byte) bool { return strings.HasPrefix(string(content), "# leave") }}
		}},
		"what is left out is read": {common: map[string]string{"over/a.yaml": configMap("a")}, base: map[string]string{"over/b.yaml": "# leave out\n"}, head: map[string]string{"over/b.yaml": "# leave out, too\n"}, options: func(string) Options {
			return Options{LeaveOut: func(_ string, content []byte) bool { return strings.HasPrefix(string(content), "# leave") }}
		}},
		"a file that is ignored": {common: plain, options: func(root string) Options {
			return Options{Ignored: func(path string, _ bool) bool {
				return !exists(filepath.Join(root, "head")) && path == filepath.Join(root, "base", "b.yaml")
			}}
		}, shared: true},
		"a file that one of them ignores": {common: plain, head: map[string]string{"head": ""}, options: func(root string) Options {
			return Options{Ignored: func(path string, _ bool) bool {
				return exists(filepath.Join(root, "head")) && filepath.Base(path) == "a.yaml"
			}}
		}},
		"a file that a transformer's file names": {common: with(map[string]string{"t/kustomization.yaml": "resources: [../base]\ntransformers: [../tf]\n", "tf/kustomization.yaml": "resources: [t.yaml]\n", "tf/t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: p.yaml\ntarget: {kind: ConfigMap}\n"}), base: map[string]string{"tf/p.yaml": "- {op: add, path: /data/b, value: c}\n", "t/p.yaml": "- {op: add, path: /data/b, value: c}\n"}, head: map[string]string{"tf/p.yaml": "- {op: add, path: /data/b, value: d}\n", "t/p.yaml": "- {op: add, path: /data/b, value: d}\n"}, dir: "t"},
	} {
		t.Run(name, func(t *testing.T) {
			g, builds := NewWithT(t), NewBuilds()
			trees := twoTrees(t, c.common, c.base, c.head)
			var content []uintptr
			for _, root := range trees {
				dir, o := c.dir, Options{}
				if c.options != nil {
					o = c.options(root)
				}
				if dir == "" {
					dir = "over"
				}
				var read, readAnew []string
				o.Root, o.Note = root, func(path string) { readAnew = append(readAnew, path) }
				anew, failed := Folder(filepath.Join(root, dir), o)
				o.Builds, o.Note = builds, func(path string) { read = append(read, path) }
				built, err := Folder(filepath.Join(root, dir), o)
				if failed != nil {
					g.Expect(err).To(MatchError(failed.Error()))
					continue
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(whatItIs(built, root)).To(Equal(whatItIs(anew, root)))
				for _, all := range []*[]string{&read, &readAnew} {
					slices.Sort(*all)
					*all = slices.Compact(*all)
				}
				g.Expect(read).To(Equal(readAnew))
				content = append(content, reflect.ValueOf(built.Objects[0].Object["data"]).Pointer())
			}
			g.Expect(len(content) == 2 && content[0] == content[1]).To(Equal(c.shared))
		})
	}
}

// No build changes what another has.
func TestABuildThatIsSharedIsEverybodysOwn(t *testing.T) {
	g, builds := NewWithT(t), NewBuilds()
	root := twoTrees(t, map[string]string{"a.yaml": configMap("a")}, nil, nil)[0]
	first, err := Folder(root, Options{Root: root, Builds: builds})
	g.Expect(err).NotTo(HaveOccurred())
	first.Objects[0].SetLabels(map[string]string{"a": "b"})
	first.Objects[0].Object["data"] = nil
	first.Objects[0].At = nil
	second, err := Folder(root, Options{Root: root, Builds: builds})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second.Objects[0].GetLabels()).To(BeEmpty())
	g.Expect(second.Objects[0].Object["data"]).NotTo(BeNil())
	g.Expect(second.Objects[0].Place().File).To(Equal(filepath.Join(root, "a.yaml")))
}

// A file of the same content is parsed once, and yet each has its own place, name and metadata.
func TestAFileOfTheSameContentIsParsedOnce(t *testing.T) {
	g, builds := NewWithT(t), NewBuilds()
	content := []byte("# first\n---\n" + configMap("a"))
	roots := twoTrees(t, map[string]string{"a.yaml": string(content)}, nil, nil)
	var shared []uintptr
	for _, root := range roots {
		read, err := builds.File(filepath.Join(root, "a.yaml"), content)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read.Objects).To(HaveLen(1))
		object := read.Objects[0]
		g.Expect(object.GetLabels()).To(BeEmpty())
		object.SetLabels(map[string]string{"a": "b"})
		g.Expect(object.Place().File).To(Equal(filepath.Join(root, "a.yaml")))
		g.Expect(object.Place().Line).To(BeNumerically(">", 2))
		g.Expect(object.Place("metadata", "name").Line).To(BeNumerically(">", object.Place().Line))
		shared = append(shared, reflect.ValueOf(object.Object["data"]).Pointer())
	}
	g.Expect(shared[0]).To(Equal(shared[1]))
	_, err := builds.File("broken.yaml", []byte("a: ["))
	g.Expect(err).To(MatchError(HavePrefix("broken.yaml ")))
	_, err = builds.File("other.yaml", []byte("a: ["))
	g.Expect(err).To(MatchError(HavePrefix("other.yaml ")))
}

// What fails names paths. Kustomize is asked once for all entry points, and for all trees of the same files.
func TestWhatFailsIsNotBuiltAgain(t *testing.T) {
	g := NewWithT(t)
	trees := twoTrees(t, map[string]string{"a/kustomization.yaml": "resources: [none.yaml]\n"}, nil, nil)
	builds, looked := NewBuilds(), 0
	in := func(root string) error {
		_, err := Folder(filepath.Join(root, "a"), Options{Root: root, Builds: builds, Note: func(string) { looked++ }})
		return err
	}
	g.Expect(in(trees[0])).To(MatchError(ContainSubstring(trees[0])))
	g.Expect(looked).NotTo(BeZero())
	building.Lock() // a build would wait for it
	for _, root := range trees {
		looked = 0
		g.Expect(in(root)).To(MatchError(ContainSubstring(root)))
		g.Expect(looked).NotTo(BeZero(), "what was read is noted all the same")
	}
	building.Unlock()
	g.Expect(os.WriteFile(filepath.Join(trees[1], "a", "none.yaml"), []byte("apiVersion: v1\nkind: X\nmetadata: {name: x}\n"), 0o600)).To(Succeed())
	g.Expect(in(trees[1])).To(Succeed(), "it has what was missing")
}
