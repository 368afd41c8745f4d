package crddiff

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the expected results anew")

// Each folder under testdata is two states of some CRDs and named after what differs; expected.json is what is said
// about it.
func TestChangesAreNamed(t *testing.T) {
	for _, folder := range folders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			g := NewWithT(t)
			base, head := read(t, filepath.Join(folder, "base.yaml")), read(t, filepath.Join(folder, "head.yaml"))
			golden(g, filepath.Join(folder, "expected.json"), marshal(g, Sets(base, head, v1alpha1.MigrateLabel)))
		})
	}
}

func folders(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*/base.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(len(all)).To(BeNumerically(">", 25))
	for i := range all {
		all[i] = filepath.Dir(all[i])
	}
	return all
}

// golden compares with a file, or writes it.
func golden(g *WithT, file string, got []byte) {
	if *update {
		g.Expect(os.WriteFile(file, got, 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred(), "go test ./policies/crddiff -update writes it")
	g.Expect(string(got)).To(Equal(string(want)))
}

func marshal(g *WithT, content any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	g.Expect(encoder.Encode(content)).To(Succeed())
	return b.Bytes()
}

// read returns the CRDs of a file.
func read(t *testing.T, file string) []*definition {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var all []*definition
	for _, object := range objects(t, content) {
		crd, err := Decode(object)
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, crd)
	}
	return all
}

// objects are those of a file with several documents.
func objects(t *testing.T, content []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
		var object map[string]any
		NewWithT(t).Expect(yaml.Unmarshal(document, &object)).To(Succeed())
		if object != nil {
			all = append(all, &unstructured.Unstructured{Object: object})
		}
	}
	return all
}
