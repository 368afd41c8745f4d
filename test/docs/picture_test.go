package docs_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/docs"
)

//go:generate go test -vet=off . -run TestEachPictureIsDrawn -count=1 -update

var update = flag.Bool("update", false, "draw the pictures of the site anew")

// The site asks for no program elsewhere that could draw them.
func TestEachPictureIsDrawn(t *testing.T) {
	g := NewWithT(t)
	folder := filepath.Join(root, "docs/site/assets/pictures")
	want := map[string]string{}
	texts := pages(g, "*.md")
	maps.Copy(texts, pages(g, "guides/*.md"))
	for name, text := range texts {
		for _, block := range docs.Blocks(text) {
			if block.Language == "mermaid" {
				drawn, err := docs.Draw(block.Text)
				g.Expect(err).NotTo(HaveOccurred(), name)
				want[docs.PictureFile(block.Text)] = drawn
			}
		}
	}
	g.Expect(len(want)).To(BeNumerically(">=", 8))
	if *update {
		g.Expect(os.RemoveAll(folder)).To(Succeed())
		g.Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
		for name, drawn := range want {
			g.Expect(os.WriteFile(filepath.Join(folder, name), []byte(drawn), 0o600)).To(Succeed())
		}
		return
	}
	got := map[string]string{}
	files, err := os.ReadDir(folder)
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		drawn, err := os.ReadFile(filepath.Join(folder, file.Name()))
		g.Expect(err).NotTo(HaveOccurred())
		got[file.Name()] = string(drawn)
	}
	g.Expect(got).To(Equal(want), "run `make generate`, and commit what it wrote")
}

func TestAPicture(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		has  []string
	}{
		"a chain with a text":      {"flowchart LR\n  A[one] -- then --> B[two<br>lines]", []string{">one<", ">then<", ">two<", ">lines<"}},
		"an arrow back, in dots":   {"flowchart LR\n  A[one] --> B[two]\n  B -. back .-> A", []string{">back<", "stroke-dasharray"}},
		"signs of HTML":            {"flowchart LR\n  A[(a & b)] --> B{\"c?\"}", []string{">a &amp; b<", ">c?<"}},
		"another chart is refused": {"timeline\n  a : b", nil},
		"a line that is none":      {"flowchart LR\n  A ==> B", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			drawn, err := docs.Draw(c.text)
			g.Expect(err != nil).To(Equal(c.has == nil))
			for _, part := range c.has {
				g.Expect(drawn).To(ContainSubstring(part))
			}
		})
	}
}
