package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestOptionsRenameAndAnnotate(t *testing.T) {
	g := NewWithT(t)
	dir := folderOf(t, map[string]string{
		"x.yaml":             configMap("x"),
		"kustomization.yaml": "resources: [x.yaml]\nnamespace: a\nnamePrefix: a-\nnameSuffix: -a\n",
	})
	built, err := Folder(dir, Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(built)).To(Equal([]string{"a-x-a"}))
	g.Expect(built.Objects[0].GetNamespace()).To(Equal("a"))

	built, err = Folder(dir, Options{Namespace: "b", NamePrefix: "b-", NameSuffix: "-b", Annotations: map[string]string{"team": "b"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(built)).To(Equal([]string{"b-x-b"}))
	g.Expect(built.Objects[0].GetNamespace()).To(Equal("b"))
	g.Expect(built.Objects[0].GetAnnotations()).To(Equal(map[string]string{"team": "b"}))
	g.Expect(built.Objects[0].Place().String()).To(Equal(filepath.Join(dir, "x.yaml") + ":1"))
}

// Flux finds nothing outside of the source either.
func TestNothingIsReadOutsideOfTheRoot(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"secret/x.yaml":                       configMap("secret"),
		"repository/base/x.yaml":              configMap("x"),
		"repository/up/kustomization.yaml":    "resources: [../base/x.yaml]\n",
		"repository/out/kustomization.yaml":   "resources: [../../secret/x.yaml]\n",
		"repository/link/kustomization.yaml":  "resources: [x.yaml]\n",
		"repository/inner/kustomization.yaml": "resources: [x.yaml]\n",
	})
	root := filepath.Join(dir, "repository")
	g := NewWithT(t)
	g.Expect(os.Symlink("../../secret/x.yaml", filepath.Join(root, "link", "x.yaml"))).To(Succeed())
	g.Expect(os.Symlink("../base/x.yaml", filepath.Join(root, "inner", "x.yaml"))).To(Succeed())
	g.Expect(os.MkdirAll(filepath.Join(root, "plain"), 0o750)).To(Succeed())
	g.Expect(os.Symlink("../../secret/x.yaml", filepath.Join(root, "plain", "x.yaml"))).To(Succeed())
	for folder, outside := range map[string]bool{"up": false, "inner": false, "base": false, "out": true, "link": true, "plain": true} {
		t.Run(folder, func(t *testing.T) {
			g := NewWithT(t)
			built, err := Folder(filepath.Join(root, folder), Options{Root: root})
			if outside {
				g.Expect(err).To(MatchError(ContainSubstring("lies outside of " + root)))
				_, err = Folder(filepath.Join(root, folder), Options{})
				g.Expect(err).NotTo(HaveOccurred(), "without a root there is no outside")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(names(built)).To(Equal([]string{"x"}))
		})
	}
	_, err := Directory(filepath.Join(root, "plain"), DirectoryOptions{Root: root})
	g.Expect(err).To(MatchError(ContainSubstring("lies outside of " + root)))
	g.Expect(isFetched(filepath.Join(os.TempDir(), "kustomize-123", "base", "x.yaml"))).To(BeTrue())
	g.Expect(isFetched(filepath.Join(os.TempDir(), "kustomize-123"))).To(BeTrue())
	g.Expect(isFetched(filepath.Join(os.TempDir(), "other", "kustomize-123", "x.yaml"))).To(BeFalse())
	g.Expect(isFetched("/etc/kustomize-1/x")).To(BeFalse())
}

func TestADirectoryIsReadAsArgoCDDoes(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"a.yaml": configMap("a"), "b.yml": configMap("b"), "c.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}`,
		"values.yaml": "replicas: 1\n", "notes.txt": "x", "skipped.yaml": "# +argocd:skip-file-rendering\n" + configMap("skipped"),
		"below/d.yaml": configMap("d"), "template.yaml": "{{ if x }}\n", ".git/e.yaml": configMap("e"),
	})
	for name, c := range map[string]struct {
		options DirectoryOptions
		want    []string
	}{
		"the folder alone":       {DirectoryOptions{}, []string{"a", "b", "c"}},
		"and those below":        {DirectoryOptions{Recurse: true}, []string{"a", "b", "d", "c"}},
		"some of it":             {DirectoryOptions{Recurse: true, Include: "*.y*ml"}, []string{"a", "b", "d"}},
		"some names":             {DirectoryOptions{Include: "{a,b}.*"}, []string{"a", "b"}},
		"all but some":           {DirectoryOptions{Recurse: true, Exclude: "below/*"}, []string{"a", "b", "c"}},
		"one letter":             {DirectoryOptions{Include: "?.yaml"}, []string{"a"}},
		"braces that do not fit": {DirectoryOptions{Include: "}{a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			read, err := Directory(dir, c.options)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(names(read)).To(Equal(c.want))
		})
	}
	g := NewWithT(t)
	read, err := Directory(dir, DirectoryOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Objects[1].Place("data").String()).To(Equal(filepath.Join(dir, "b.yml") + ":5"))
	g.Expect(read.Files).To(ContainElement(filepath.Join(dir, "a.yaml")))
	again, err := Stream("again", strings.NewReader(text(read)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(again)).To(Equal(names(read)))

	link := filepath.Join(t.TempDir(), "link")
	g.Expect(os.Symlink(filepath.Join(dir, "below"), link)).To(Succeed())
	read, err = Directory(link, DirectoryOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(read)).To(Equal([]string{"d"}), "through a symbolic link")

	_, err = Directory(folderOf(t, map[string]string{"broken.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {\n"}), DirectoryOptions{})
	g.Expect(err).To(MatchError(ContainSubstring("broken.yaml is neither YAML nor JSON")))
	_, err = Directory("nowhere", DirectoryOptions{})
	g.Expect(err).To(MatchError(HavePrefix("nowhere cannot be read")))
}
