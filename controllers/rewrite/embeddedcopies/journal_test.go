package embeddedcopies

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func object(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": map[string]any{"name": name}}}
}

func TestAFileIsContinuedAfterALineThatWasCutOff(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "removed.json")
	f, err := OpenFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.Kept()).To(BeEmpty())
	g.Expect(f.Keep(object("one"))).To(Succeed())
	g.Expect(f.Keep(object("two"))).To(Succeed())
	g.Expect(f.Close()).To(Succeed())
	content, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(path, content[:len(content)-5], 0o600)).To(Succeed())

	f, err = OpenFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.Kept()).To(Equal([]*unstructured.Unstructured{object("one")}))
	g.Expect(f.Keep(object("three"))).To(Succeed())
	g.Expect(f.Close()).To(Succeed())
	f, err = OpenFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.Kept()).To(Equal([]*unstructured.Unstructured{object("one"), object("three")}))
	g.Expect(f.Close()).To(Succeed())
}

func TestAFileOfSomethingElseIsLeftAsItIs(t *testing.T) {
	for name, content := range map[string]string{"notes": "buy milk\n", "notes without an end": "buy milk", "JSON": "{\"a\":1}\n", "YAML": "a: 1\nb: 2\n"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			path := filepath.Join(t.TempDir(), "file")
			g.Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
			_, err := OpenFile(path)
			g.Expect(err).To(MatchError(ContainSubstring("is no file of objects that were removed")))
			g.Expect(os.ReadFile(path)).To(BeEquivalentTo(content))
		})
	}
}
