package render

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/moult-dev/moult/test/builders"
)

// folderOf writes files, by name, into a folder of its own.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		g.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
	}
	return dir
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  a: \"1\" # why\n"
}

// names of the objects, in their order.
func names(r *Rendering) []string {
	var found []string
	for _, object := range r.Objects {
		found = append(found, object.GetName())
	}
	return found
}

func text(r *Rendering) string { return builders.YAML(r.Objects) }

// Every folder of testdata is a repository; the overlay in it is built.
func TestAFolderIsBuiltAsKustomizeDoes(t *testing.T) {
	g := NewWithT(t)
	built, err := Folder("testdata/prefixed/overlay", Options{})
	g.Expect(err).NotTo(HaveOccurred())
	golden, err := os.ReadFile("testdata/prefixed/expected.golden")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text(built)).To(Equal(string(golden)))

	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	plain, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), "testdata/prefixed/overlay")
	g.Expect(err).NotTo(HaveOccurred())
	want, err := plain.AsYaml()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text(built)).To(Equal(string(want)))
}

func TestAnObjectsPlaceIsItsFileAndLine(t *testing.T) {
	g := NewWithT(t)
	built, err := Folder("testdata/prefixed/overlay", Options{})
	g.Expect(err).NotTo(HaveOccurred())
	before := text(built)
	places := map[string]string{}
	for _, object := range built.Objects {
		places[object.GetName()] = object.Place("data", "a").String()
	}
	g.Expect(places).To(Equal(map[string]string{
		"prod-first":                "testdata/prefixed/base/both.yaml:7",
		"prod-second":               "testdata/prefixed/base/both.yaml:10", // where the object begins, as it has no data
		"prod-third":                "testdata/prefixed/shared/third.yaml:6",
		"prod-generated-mh99d48kbb": "testdata/prefixed/overlay/kustomization.yaml",
	}))
	g.Expect(text(built)).To(Equal(before), "asking changes nothing")
	for _, object := range built.Objects {
		g.Expect(object.GetAnnotations()).NotTo(HaveKey("config.kubernetes.io/origin"))
	}
}

// A build that annotates origins is another build: this patch would select nothing in it.
func TestOriginsAreNotPartOfTheBuild(t *testing.T) {
	g := NewWithT(t)
	dir := folderOf(t, map[string]string{
		"x.yaml": configMap("x"),
		"kustomization.yaml": `resources: [x.yaml]
patches:
- target: {annotationSelector: "!config.kubernetes.io/origin"}
  patch: '[{"op": "add", "path": "/data/b", "value": "2"}]'
`,
	})
	built, err := Folder(dir, Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(built.Objects[0].Place("data").String()).To(Equal(filepath.Join(dir, "x.yaml") + ":5"))
	g.Expect(text(built)).To(ContainSubstring(`b: "2"`))
}

func TestAPlaceThatIsPatchedAwayIsUnknown(t *testing.T) {
	g := NewWithT(t)
	dir := folderOf(t, map[string]string{
		"x.yaml": configMap("x"),
		"kustomization.yaml": `resources: [x.yaml]
patches:
- target: {kind: ConfigMap}
  patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]'
`,
	})
	built, err := Folder(dir, Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(built.Objects[0].GetAnnotations()).To(Equal(map[string]string{"a": "b"}))
	g.Expect(built.Objects[0].Place().File).NotTo(ContainSubstring("x.yaml"))
}

func TestOriginsThatAreAskedForStay(t *testing.T) {
	g := NewWithT(t)
	dir := folderOf(t, map[string]string{
		"x.yaml":             configMap("x"),
		"kustomization.yaml": "resources: [x.yaml]\nbuildMetadata: [originAnnotations]\n",
	})
	built, err := Folder(dir, Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(built.Objects[0].GetAnnotations()).To(HaveKey("config.kubernetes.io/origin"))
	g.Expect(built.Objects[0].Place().Line).To(Equal(1))
}

func TestAFolderWithoutAKustomizationIsBuiltAsFluxDoes(t *testing.T) {
	g := NewWithT(t)
	dir := folderOf(t, map[string]string{
		"b.yaml":                  configMap("b"),
		"a/a.yml":                 configMap("a") + "---\n" + configMap("a2"),
		"a/notes.txt":             "no manifest",
		"k/kustomization.yaml":    "resources: [x.yaml]\nnamePrefix: k-\n",
		"k/x.yaml":                configMap("x"),
		"k/not-listed.yaml":       configMap("not-listed"),
		".git/config.yaml":        "not: ours",
		"empty/only-comment.yaml": "# nothing\n",
	})
	built, err := Folder(dir, Options{Patches: []types.Patch{{Target: &types.Selector{}, Patch: `[{"op": "add", "path": "/data/b", "value": "2"}]`}}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(built)).To(Equal([]string{"a", "a2", "b", "k-x"}))
	for _, object := range built.Objects {
		g.Expect(object.Object["data"]).To(HaveKeyWithValue("b", "2"))
	}
	g.Expect(built.Objects[1].Place("data", "a").String()).To(Equal(filepath.Join(dir, "a/a.yml") + ":13"))
	g.Expect(filepath.Join(dir, "kustomization.yaml")).NotTo(BeAnExistingFile())
}

func TestOptionsAreWhatADeliveryAdds(t *testing.T) {
	g := NewWithT(t)
	dir := folderOf(t, map[string]string{
		"app/x.yaml":              configMap("x"),
		"app/kustomization.yaml":  "resources: [x.yaml]\n",
		"more/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -more\n",
	})
	app := filepath.Join(dir, "app")
	built, err := Folder(app, Options{Components: []string{"../more"}, Labels: map[string]string{"team": "a"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(built)).To(Equal([]string{"x-more"}))
	g.Expect(built.Objects[0].GetLabels()).To(Equal(map[string]string{"team": "a"}))
	g.Expect(built.Files).To(ConsistOf(HaveSuffix("/app/kustomization.yaml"), HaveSuffix("/app/x.yaml"), HaveSuffix("/more/kustomization.yaml")))

	_, err = Folder(app, Options{Components: []string{"../missing"}})
	g.Expect(err).To(MatchError(And(HavePrefix(app+" cannot be built"), ContainSubstring("missing"))))
	built, err = Folder(app, Options{Components: []string{"../missing", "../more"}, IgnoreMissingComponents: true})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(built)).To(Equal([]string{"x-more"}))

	var edited []string
	built, err = Folder(app, Options{Components: []string{"../more"}, Edit: func(file string, content []byte) ([]byte, error) {
		edited = append(edited, filepath.Base(filepath.Dir(file)))
		return []byte(strings.ReplaceAll(string(content), "-more", "-less")), nil
	}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(built)).To(Equal([]string{"x-less"}))
	g.Expect(edited).To(ContainElements("app", "more"))
}

func TestPluginsDoNotRun(t *testing.T) {
	g := NewWithT(t)
	dir := folderOf(t, map[string]string{
		"kustomization.yaml": "generators: [run.yaml]\n",
		"run.yaml":           "apiVersion: example.com/v1\nkind: Run\nmetadata:\n  name: run\n  annotations:\n    config.kubernetes.io/function: '{exec: {path: ./run.sh}}'\n",
		"run.sh":             "#!/bin/sh\ntouch ran\n",
	})
	_, err := Folder(dir, Options{})
	g.Expect(err).To(MatchError(ContainSubstring("external plugins disabled")))
	g.Expect(filepath.Join(dir, "ran")).NotTo(BeAnExistingFile())
}

func TestWhatCannotBeBuiltIsNamed(t *testing.T) {
	file := filepath.Join(folderOf(t, map[string]string{"x.yaml": "x"}), "x.yaml")
	for name, c := range map[string]struct{ dir, says string }{
		"no such folder":             {"nowhere", "nowhere cannot be built"},
		"a file":                     {file, "it is a file; name its folder"},
		"a YAML that is no manifest": {folderOf(t, map[string]string{"values.yaml": "replicas: 1\n"}), "values.yaml holds no manifests"},
		"an empty kustomization":     {folderOf(t, map[string]string{"kustomization.yaml": ""}), "kustomization.yaml is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Folder(c.dir, Options{})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

// Kustomize keeps what it knows of schemas in global variables.
func TestOneFolderIsBuiltAtATime(t *testing.T) {
	g := NewWithT(t)
	inside, second, leave := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	build := func(once func()) {
		group.Go(func() {
			_, err := Folder("testdata/prefixed/base", Options{Edit: func(_ string, content []byte) ([]byte, error) {
				once()
				return content, nil
			}})
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
		})
	}
	build(sync.OnceFunc(func() { close(inside); <-leave }))
	<-inside
	build(sync.OnceFunc(func() { close(second) }))
	g.Consistently(second, "1s").ShouldNot(BeClosed())
	close(leave)
	g.Eventually(second, "1m").Should(BeClosed())
	group.Wait()
}

// With a schema that says how, a patch merges the lists of a custom resource; without one it replaces them.
func TestWhatOneFolderSaysOfSchemasIsNotKnownToTheNext(t *testing.T) {
	const schema = `{"definitions": {"x": {"type": "object", "properties": {"list": {"type": "array", "x-kubernetes-patch-merge-key": "name",
		"x-kubernetes-patch-strategy": "merge", "items": {"type": "object", "properties": {"name": {"type": "string"}}}}},
		"x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "X", "version": "v1"}]}}}`
	g := NewWithT(t)
	files := map[string]string{
		"x.yaml":             "apiVersion: example.com/v1\nkind: X\nmetadata: {name: x}\nlist: [{name: a}]\n",
		"schema.json":        schema,
		"kustomization.yaml": "resources: [x.yaml]\npatches: [{patch: '{apiVersion: example.com/v1, kind: X, metadata: {name: x}, list: [{name: b}]}'}]\n",
	}
	plain := folderOf(t, files)
	files["kustomization.yaml"] += "openapi: {path: schema.json}\n"
	custom := folderOf(t, files)
	for i, c := range []struct {
		dir  string
		want int
	}{{plain, 1}, {custom, 2}, {plain, 1}, {plain, 1}, {custom, 2}, {custom, 2}, {plain, 1}} {
		built, err := Folder(c.dir, Options{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(built.Objects[0].Object["list"]).To(HaveLen(c.want), "build %d", i)
	}
}

func TestAStreamIsTakenApart(t *testing.T) {
	g := NewWithT(t)
	const stream = `---
# Source: widgets/templates/a.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
---
# nothing
---
replicas: 1
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b}
  data:
    n: "1"
- {apiVersion: v1, kind: Secret, metadata: {name: c}}
`
	read, err := Stream("standard input", strings.NewReader(stream))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(read)).To(Equal([]string{"a", "b", "c"}))
	g.Expect(read.Objects[0].Place("metadata", "name").String()).To(Equal("standard input:6 (widgets/templates/a.yaml)"))
	g.Expect(read.Objects[0].Place("spec").Line).To(Equal(3), "where the object begins")
	g.Expect(read.Objects[1].Place("data", "n").String()).To(Equal("standard input:19"))

	read, err = Stream("x.json", strings.NewReader(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j"}}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(read)).To(Equal([]string{"j"}))

	_, err = Stream("x.yaml", strings.NewReader("a: b: c\n"))
	g.Expect(err).To(MatchError(HavePrefix("x.yaml is neither YAML nor JSON: ")))
}
