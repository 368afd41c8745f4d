package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func widgets() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name, crd.UID, crd.Spec.Group, crd.Spec.Names.Plural = "widgets.example.com", "7", "example.com", "widgets"
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true}, {Name: "v1", Served: true, Storage: true}}
	crd.Status.StoredVersions = []string{"v1alpha1", "v1"}
	return crd
}

func object(version, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(3), "text": strings.Repeat(name, 20)}}}
	o.SetAPIVersion("example.com/" + version)
	o.SetKind("Widget")
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// written is a backup with n objects in two namespaces, one without, and its digest.
func written(g Gomega, n int) (content []byte, digest string) {
	var out bytes.Buffer
	w, err := NewWriter(&out, now, "cluster")
	g.Expect(err).NotTo(HaveOccurred())
	all, err := w.CRD(widgets(), []string{"v1", "v1alpha1"}, []string{"v1alpha1", "v1"})
	g.Expect(err).NotTo(HaveOccurred())
	for i := range n {
		namespace, name := []string{"", "a", "cluster"}[i%3], fmt.Sprintf("rose-%d", i)
		g.Expect(all.Add([]*unstructured.Unstructured{object("v1", namespace, name), object("v1alpha1", namespace, name)}, nil)).To(Succeed())
	}
	all.End("12")
	digest, err = w.Close()
	g.Expect(err).NotTo(HaveOccurred())
	return out.Bytes(), digest
}

func opened(content []byte) (*Backup, error) {
	return Open(bytes.NewReader(content), int64(len(content)))
}

func TestABackupIsReadAsItWasWritten(t *testing.T) {
	g := NewWithT(t)
	const n = 3 * perSums / 4
	content, digest := written(g, n)
	b, err := opened(content)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.Digest).To(Equal(digest))
	g.Expect(b.Manifest).To(Equal(Manifest{Format: 1, Time: now.Truncate(time.Second), Cluster: "cluster", Files: 3 + 3*n, CRDs: []CRDReport{{
		Name: "widgets.example.com", UID: "7", StorageVersion: "v1", StoredVersions: []string{"v1alpha1", "v1"}, Objects: n,
		Versions: []string{"v1", "v1alpha1"}, ResourceVersion: "12",
	}}}))
	g.Expect(b.Definitions["widgets.example.com"].Status.StoredVersions).To(Equal([]string{"v1alpha1", "v1"}))
	at := 0
	g.Expect(b.Each(func(o Object) error {
		g.Expect(o.Name).To(Equal(fmt.Sprintf("rose-%d", at)))
		g.Expect(o.Copies).To(HaveLen(2))
		g.Expect(o.Copies["v1alpha1"]).To(MatchJSON(marshalled(g, object("v1alpha1", o.Namespace, o.Name))))
		at++
		return nil
	})).To(Succeed())
	g.Expect(at).To(Equal(n))
}

// A list that somebody has trimmed does not say that no object is stored at a version; the managedFields of the objects may.
func TestVersionsThatWereNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		served bool
		stored []string // as the status says
		at     string   // in managedFields
		want   []string
	}{
		"the list names it":                               {stored: []string{"v1alpha1", "v1"}, at: "v1", want: []string{"v1alpha1"}},
		"the list does not name it, and it is served":     {served: true, stored: []string{"v1"}, at: "v1", want: []string{"v1alpha1"}},
		"the list does not name it, and an object does":   {stored: []string{"v1"}, at: "v1alpha1", want: []string{"v1alpha1"}},
		"the list does not name it, and no object does":   {stored: []string{"v1"}, at: "v1"},
		"an object names a version that has left the CRD": {stored: []string{"v1"}, at: "v0", want: []string{"v1alpha1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, err := NewWriter(io.Discard, now, "cluster")
			g.Expect(err).NotTo(HaveOccurred())
			crd := widgets()
			crd.Status.StoredVersions = c.stored
			for i := range crd.Spec.Versions {
				crd.Spec.Versions[i].Served = crd.Spec.Versions[i].Storage || c.served
			}
			all, err := w.CRD(crd, []string{"v1"}, []string{"v1alpha1", "v1"})
			g.Expect(err).NotTo(HaveOccurred())
			for i, at := range []string{"v1", c.at} {
				o := object("v1", "default", fmt.Sprintf("rose-%d", i))
				o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m", APIVersion: "example.com/" + at}})
				g.Expect(all.Add([]*unstructured.Unstructured{o}, nil)).To(Succeed())
			}
			g.Expect(all.NotRead).To(Equal(c.want))
		})
	}
}

func marshalled(g Gomega, v any) []byte {
	content, err := json.Marshal(v)
	g.Expect(err).NotTo(HaveOccurred())
	return content
}

// Velero's users find what they know, and tar and gzip read all of it.
func TestTheLayoutIsVeleros(t *testing.T) {
	g := NewWithT(t)
	content, _ := written(g, 2)
	zip, err := gzip.NewReader(bytes.NewReader(content))
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	files := tar.NewReader(zip)
	for {
		header, err := files.Next()
		if err == io.EOF {
			break
		}
		g.Expect(err).NotTo(HaveOccurred())
		names = append(names, header.Name)
	}
	g.Expect(io.Copy(io.Discard, zip)).To(BeZero(), "the seal holds nothing")
	g.Expect(names).To(Equal([]string{
		"metadata/version",
		"resources/customresourcedefinitions.apiextensions.k8s.io/v1-preferredversion/cluster/widgets.example.com.json",
		"resources/customresourcedefinitions.apiextensions.k8s.io/cluster/widgets.example.com.json",
		"resources/widgets.example.com/v1-preferredversion/cluster/rose-0.json",
		"resources/widgets.example.com/cluster/rose-0.json",
		"resources/widgets.example.com/v1alpha1/cluster/rose-0.json",
		"resources/widgets.example.com/v1-preferredversion/namespaces/a/rose-1.json",
		"resources/widgets.example.com/namespaces/a/rose-1.json",
		"resources/widgets.example.com/v1alpha1/namespaces/a/rose-1.json",
		"moult/sha256sums/00001",
		"moult/manifest.json",
	}))
}

// Whichever byte is another, wherever the end is, and whatever is added: it is seen.
func TestNoChangeGoesUnseen(t *testing.T) {
	g := NewWithT(t)
	content, _ := written(g, 3)
	for at := range content {
		for bit := range 8 {
			bad := bytes.Clone(content)
			bad[at] ^= 1 << bit
			_, err := opened(bad)
			g.Expect(err).To(HaveOccurred(), "byte %d of %d, bit %d", at, len(content), bit)
		}
	}
	for size := range content {
		_, err := opened(content[:size])
		g.Expect(err).To(MatchError(ContainSubstring("damaged")), "cut off at %d", size)
	}
	for _, more := range [][]byte{{0}, sealOf(make([]byte, sha256.Size)), content} {
		_, err := opened(append(bytes.Clone(content), more...))
		g.Expect(err).To(HaveOccurred())
	}
	for range 200 {
		bad := bytes.Clone(content)
		i, j := rand.IntN(len(bad)), rand.IntN(len(bad))
		if bad[i], bad[j] = bad[j], bad[i]; bytes.Equal(bad, content) {
			continue
		}
		_, err := opened(bad)
		g.Expect(err).To(HaveOccurred(), "bytes %d and %d", i, j)
	}
}

// packed is an archive with these files, in pairs of name and content, and a seal that fits: what somebody can make by hand.
func packed(g Gomega, change func(header *tar.Header), files ...string) []byte {
	var out bytes.Buffer
	sum := sha256.New()
	zip := gzip.NewWriter(io.MultiWriter(&out, sum))
	all := tar.NewWriter(zip)
	for i := 0; i < len(files); i += 2 {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644}
		change(header)
		g.Expect(all.WriteHeader(header)).To(Succeed())
		_, _ = all.Write([]byte(files[i+1]))
	}
	g.Expect(all.Close()).To(Succeed())
	g.Expect(zip.Close()).To(Succeed())
	out.Write(sealOf(sum.Sum(nil)))
	return out.Bytes()
}

func TestAFileThatSomebodyPackedAnewIsRefused(t *testing.T) {
	rose, lily := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"rose"}}`, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"lily"}}`
	const at = "resources/widgets.example.com/v1/cluster/"
	line := func(content, name string) string {
		return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name)
	}
	manifest := func(files int) string { return fmt.Sprintf(`{"format":1,"crds":[],"files":%d}`, files) }
	for name, c := range map[string]struct {
		files  []string
		change func(*tar.Header)
		want   string
	}{
		"two objects are swapped": {
			files: []string{at + "rose.json", lily, at + "lily.json", rose, sumsFile(1), line(lily, at+"rose.json") + line(rose, at+"lily.json"), manifestFile, manifest(2)},
			want:  "holds another object",
		},
		"an object is not that of its SHA-256": {
			files: []string{at + "rose.json", rose, sumsFile(1), line(rose+" ", at+"rose.json"), manifestFile, manifest(1)},
			want:  "are not those of moult/sha256sums/00001",
		},
		"one has no SHA-256": {
			files: []string{at + "rose.json", rose, manifestFile, manifest(1)}, want: "its manifest says 1",
		},
		"one is missing": {
			files: []string{sumsFile(1), "", manifestFile, manifest(1)}, want: "it has 0 files, and its manifest says 1",
		},
		"there is no manifest": {
			files: []string{at + "rose.json", rose, sumsFile(1), line(rose, at+"rose.json")}, want: "lacks moult/manifest.json",
		},
		"there is something behind the manifest": {
			files: []string{manifestFile, manifest(0), at + "rose.json", rose}, want: "behind the manifest",
		},
		"a name leads out of the archive": {
			files: []string{"resources/widgets.example.com/v1/cluster/../../../../../etc/passwd", rose}, want: "no name of a file",
		},
		"an object takes very much when it is read": {
			files: []string{at + "rose.json", strings.TrimSuffix(rose, "}") + `,"spec":[` + strings.Repeat("{},", 2<<20) + "1]}"}, want: "rose.json: unpacked, it is larger",
		},
		"a name begins at the root": {files: []string{"/etc/passwd", rose}, want: "no name of a file"},
		"a name is no object's":     {files: []string{"resources/widgets.example.com/v1/rose.json", rose}, want: "no name of a file"},
		"a file is a link": {
			files: []string{at + "rose.json", ""}, change: func(h *tar.Header) { h.Typeflag, h.Linkname = tar.TypeSymlink, "/etc/passwd" }, want: "is no file",
		},
		"a file is huge": {
			files: []string{at + "rose.json", strings.Repeat(" ", mostBytes+1)}, want: "has more than",
		},
		"it is of a later program": {files: []string{manifestFile, `{"format":3,"crds":[]}`}, want: "has format 3"},
		"the manifest counts more": {
			files: []string{manifestFile, `{"format":1,"crds":[{"name":"widgets.example.com"}]}`}, want: "lacks the CRD",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if c.change == nil {
				c.change = func(*tar.Header) {}
			}
			_, err := opened(packed(g, c.change, c.files...))
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

func TestAnotherFileIsNoBackup(t *testing.T) {
	for name, content := range map[string]string{"nothing": "", "text": strings.Repeat("no backup", 100)} {
		t.Run(name, func(t *testing.T) {
			_, err := opened([]byte(content))
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("is none")))
		})
	}
}

// Whatever somebody has packed and sealed is read to its end, or refused.
func FuzzOpen(f *testing.F) {
	g := NewWithT(f)
	content, _ := written(g, 1)
	zip, err := gzip.NewReader(bytes.NewReader(content))
	g.Expect(err).NotTo(HaveOccurred())
	files, err := io.ReadAll(zip)
	g.Expect(err).NotTo(HaveOccurred())
	f.Add(files)
	f.Fuzz(func(_ *testing.T, files []byte) {
		var out bytes.Buffer
		sum := sha256.New()
		packed := gzip.NewWriter(io.MultiWriter(&out, sum))
		_, _ = packed.Write(files)
		_ = packed.Close()
		out.Write(sealOf(sum.Sum(nil)))
		_, _ = opened(out.Bytes())
	})
}
