package rooms

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// What a page points at is there.
func TestEveryRelativeLinkLeadsSomewhere(t *testing.T) {
	g := NewWithT(t)
	pages := []string{}
	g.Expect(filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata") {
			return filepath.SkipDir // what a test expects of hostile names is no page
		}
		if err == nil && filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})).To(Succeed())
	g.Expect(pages).To(ContainElement(filepath.Join(root, "README.md")))
	for _, page := range pages {
		text, err := os.ReadFile(page)
		g.Expect(err).NotTo(HaveOccurred())
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if target := found[1]; !strings.Contains(target, "://") {
				_, err := os.Stat(filepath.Join(filepath.Dir(page), target))
				g.Expect(err).NotTo(HaveOccurred(), "%s links to %s", page, target)
			}
		}
	}
}
