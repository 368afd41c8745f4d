package stage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/docs"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

// Guide is a page of docs/guides about a vendor's chart, whose commits a story makes: what the page has its reader write,
// change and run in Git. What it runs in the cluster is left out, since a real tool applies the commits here.
type Guide struct {
	t      *testing.T
	g      Gomega
	folder string
	moult  string // the program
	blocks []docs.Block
}

const chartsFolder = "test/guides/testdata/charts"

// OpenGuide begins a page, with moult in the reader's PATH.
func OpenGuide(t *testing.T, page string) *Guide {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(Path("docs/guides/" + page))
	g.Expect(err).NotTo(HaveOccurred())
	guide := &Guide{t: t, g: g, folder: t.TempDir(), moult: Build(t, "moult"), blocks: docs.Blocks(string(text))}
	g.Expect(os.CopyFS(filepath.Join(guide.folder, "charts"), os.DirFS(Path(chartsFolder)))).To(Succeed())
	return guide
}

// Commit plays the page to its next commit. The content of the commit is in the folder that it returns, with texts replaced,
// in pairs: addresses that a test serves itself.
func (d *Guide) Commit(replaced ...string) (folder string) {
	d.t.Helper()
	for len(d.blocks) > 0 {
		block := d.blocks[0]
		d.blocks = d.blocks[1:]
		if d.play(block) {
			return d.copied(strings.NewReplacer(replaced...))
		}
	}
	d.t.Fatal("the page has no more commit")
	return ""
}

// play reports whether the block has made a commit.
func (d *Guide) play(block docs.Block) (committed bool) {
	d.t.Helper()
	action, err := block.Action()
	d.g.Expect(err).NotTo(HaveOccurred())
	switch {
	case action == docs.Write:
		d.write(block.Argument, block.Text)
	case action == docs.Change:
		was, err := os.ReadFile(filepath.Join(d.folder, block.Argument))
		d.g.Expect(err).NotTo(HaveOccurred())
		changed, err := block.Apply(string(was))
		d.g.Expect(err).NotTo(HaveOccurred())
		d.write(block.Argument, changed)
	case action == docs.Run && strings.Contains(block.Text, "git ") && !strings.Contains(block.Text, "kubectl"):
		d.run(block.Text)
		return strings.Contains(block.Text, "commit")
	}
	return false
}

func (d *Guide) run(commands string) {
	d.t.Helper()
	shell := exec.CommandContext(d.t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	shell.Dir = d.folder
	shell.Env = append(os.Environ(), "HOME="+d.folder, "PATH="+filepath.Dir(d.moult)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GIT_AUTHOR_NAME=reader", "GIT_AUTHOR_EMAIL=reader@example.com", "GIT_COMMITTER_NAME=reader", "GIT_COMMITTER_EMAIL=reader@example.com")
	output, err := shell.CombinedOutput()
	d.g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, output)
}

func (d *Guide) write(name, text string) {
	d.t.Helper()
	name = filepath.Join(d.folder, name)
	d.g.Expect(os.MkdirAll(filepath.Dir(name), 0o750)).To(Succeed())
	d.g.Expect(os.WriteFile(name, []byte(text), 0o600)).To(Succeed())
}

// copied is what the repository of the page holds, without the charts and without Git's own files.
func (d *Guide) copied(replacer *strings.Replacer) string {
	d.t.Helper()
	repository, copied := filepath.Join(d.folder, "gitops"), d.t.TempDir()
	d.g.Expect(filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(repository, path)
		if entry.IsDir() && (name == ".git" || name == "charts") {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name = filepath.Join(copied, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, []byte(replacer.Replace(string(content))), 0o644)
	})).To(Succeed())
	return copied
}

// ServeCharts serves the charts of the guides as a repository of Helm: index.yaml, and an archive for each as CHART-VERSION.tgz.
func ServeCharts(t *testing.T) (address string) {
	t.Helper()
	g := NewWithT(t)
	folders, err := os.ReadDir(Path(chartsFolder))
	g.Expect(err).NotTo(HaveOccurred())
	files := map[string][]byte{}
	index := "apiVersion: v1\nentries:\n"
	for _, folder := range folders {
		cut := strings.LastIndex(folder.Name(), "-")
		name, version := folder.Name()[:cut], folder.Name()[cut+1:]
		files["/"+folder.Name()+".tgz"] = packed(g, name, filepath.Join(Path(chartsFolder), folder.Name()))
		entry := fmt.Sprintf("  - {apiVersion: v2, name: %s, version: %s, urls: [%s.tgz]}\n", name, version, folder.Name())
		if head := "  " + name + ":\n"; strings.Contains(index, head) {
			index = strings.Replace(index, head, head+entry, 1)
		} else {
			index += head + entry
		}
	}
	files["/index.yaml"] = []byte(index)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content, found := files[r.URL.Path]; found {
			_, _ = w.Write(content)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// packed is a chart's folder as an archive, in which its name is the folder.
func packed(g Gomega, name, folder string) []byte {
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	writer := tar.NewWriter(compressed)
	g.Expect(filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if err := writer.WriteHeader(&tar.Header{Name: name + "/" + filepath.ToSlash(inside), Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = writer.Write(content)
		return err
	})).To(Succeed())
	g.Expect(writer.Close()).To(Succeed())
	g.Expect(compressed.Close()).To(Succeed())
	return archive.Bytes()
}

// Vendor is the CRD of a chart of the guides, with objects that are stored at a version which goes.
type Vendor struct {
	stage    *Stage
	resource schema.GroupResource
	old      string
}

// Before is a cluster with an earlier release of the chart: its CRD stores at the old version, and n objects are stored so.
// The annotations and labels are what the tool that installed it has left.
func (s *Stage) Before(t *testing.T, file, old string, n int, change func(crd *unstructured.Unstructured)) *Vendor {
	t.Helper()
	g := NewWithT(t)
	template, err := os.ReadFile(Path(chartsFolder + "/" + file))
	g.Expect(err).NotTo(HaveOccurred())
	plain := slices.DeleteFunc(strings.Split(string(template), "\n"), func(line string) bool { return strings.Contains(line, "{{") })
	objects, err := cluster.Parse([]byte(strings.Join(plain, "\n")))
	g.Expect(err).NotTo(HaveOccurred())
	crd := objects[0]
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	g.Expect(err).NotTo(HaveOccurred())
	for _, version := range versions {
		is := version.(map[string]any)["name"] == old
		version.(map[string]any)["storage"] = is
		if is {
			version.(map[string]any)["served"] = true
		}
	}
	g.Expect(unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")).To(Succeed())
	change(crd)
	plural, group, _ := strings.Cut(crd.GetName(), ".")
	v := &Vendor{stage: s, resource: schema.GroupResource{Group: group, Resource: plural}, old: old}
	manifest := filepath.Join(t.TempDir(), "crd.yaml")
	content, err := crd.MarshalJSON()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(manifest, content, 0o600)).To(Succeed())
	g.Expect(cluster.ApplyCRDs(t.Context(), s.Client, manifest)).To(Succeed())
	g.Expect(builders.CreateObjects(t.Context(), s.Config, v.resource.WithVersion(old), "default", n)).To(Succeed())
	return v
}

// StoredAtOld is a check: etcd holds objects of the chart's CRD at the old version.
func (v *Vendor) StoredAtOld() story.Check {
	return func(ctx context.Context) (string, bool, error) {
		counts, err := v.stage.Etcd().CountByVersion(ctx, v.resource)
		return fmt.Sprintf("etcd holds %v", counts), counts[v.old] > 0, err
	}
}

// Stored counts the objects in etcd by the version their bytes are written at.
func (v *Vendor) Stored(t *testing.T) map[string]int {
	t.Helper()
	counts, err := v.stage.Etcd().CountByVersion(t.Context(), v.resource)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return counts
}

// CRD is a check: the chart's CRD in the cluster is as wanted.
func (v *Vendor) CRD(wanted func(crd *unstructured.Unstructured, versions []string) bool) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		crd, err := cluster.Get(ctx, v.stage.Client, crdAPI, crdKind, "", v.resource.String())
		if err != nil {
			return "", false, err
		}
		var names []string
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, version := range versions {
			names = append(names, version.(map[string]any)["name"].(string))
		}
		stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
		return fmt.Sprintf("the CRD has %v, storedVersions %v, labels %v", names, stored, crd.GetLabels()), wanted(crd, names), nil
	}
}
