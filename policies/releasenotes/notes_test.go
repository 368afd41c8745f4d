package releasenotes

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
)

var update = flag.Bool("update", false, "write the expected notes anew")

// The cases are those of policies/crddiff: beside what has changed lies what is to be said about it.
func TestNotes(t *testing.T) {
	cases, err := filepath.Glob("../crddiff/testdata/*/expected.json")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(len(cases)).To(BeNumerically(">", 25))
	for _, expected := range cases {
		folder := filepath.Dir(expected)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			g := NewWithT(t)
			content, err := os.ReadFile(expected)
			g.Expect(err).NotTo(HaveOccurred())
			var crds []crddiff.Diff
			g.Expect(json.Unmarshal(content, &crds)).To(Succeed())
			n := Make("git:v1:crds", "git:v2:crds", crds, v1alpha1.MigrateLabel)
			golden(g, filepath.Join(folder, "notes.md"), []byte(n.Markdown()))
			golden(g, filepath.Join(folder, "notes.json"), marshal(g, n))
		})
	}
}

func golden(g *WithT, file string, got []byte) {
	if *update {
		g.Expect(os.WriteFile(file, got, 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred(), "go test ./policies/releasenotes -update writes it")
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
