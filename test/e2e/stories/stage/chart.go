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
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

// chartsFolder has the charts of the guides.
const chartsFolder = "test/guides/testdata/charts"

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

// Removed is a check: the chart's CRD has the new version alone.
func (v *Vendor) Removed() story.Check {
	return v.CRD(func(_ *unstructured.Unstructured, versions []string) bool {
		return slices.Equal(versions, []string{NewVersion})
	})
}

// Labelled is a check: the chart's CRD is opted in.
func (v *Vendor) Labelled() story.Check {
	return v.CRD(func(crd *unstructured.Unstructured, _ []string) bool {
		return crd.GetLabels()[v1alpha1.MigrateLabel] == v1alpha1.MigrateLabelValue
	})
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
