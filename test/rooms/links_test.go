package rooms

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	. "github.com/onsi/gomega"
)

var (
	link    = regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`)
	heading = regexp.MustCompile("(?m)^#+ (.*)$")
)

// What a page points at is there, and so is the heading below which it stands.
func TestEveryRelativeLinkLeadsSomewhere(t *testing.T) {
	g := NewWithT(t)
	pages := files(g, ".md")
	g.Expect(pages).To(HaveKey(filepath.Join(root, "README.md")))
	for page, text := range pages {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target, anchor := found[1], found[2]
			if strings.Contains(target, "://") {
				continue
			}
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			_, err := os.Stat(path)
			g.Expect(err).NotTo(HaveOccurred(), "%s links to %s", page, target)
			if anchor != "" {
				g.Expect(anchors(pages[path])).To(ContainElement(anchor), "%s links to %s", page, found[0])
			}
		}
	}
}

// anchors are what GitHub calls the headings of a page.
func anchors(text string) []string {
	var all []string
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, found[1])
		all = append(all, name)
	}
	return all
}

var testName = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")

// A page that says which test holds something to be true names one that there is.
func TestEveryTestThatAPageNamesIsThere(t *testing.T) {
	g := NewWithT(t)
	all := &strings.Builder{}
	for _, text := range files(g, "_test.go") {
		all.WriteString(text)
	}
	for page, text := range files(g, ".md") {
		for _, found := range testName.FindAllStringSubmatch(text, -1) {
			g.Expect(strings.Contains(all.String(), "func "+found[1]+"(")).To(BeTrue(), "%s names %s", page, found[1])
		}
	}
}

// files are those whose names end like this, with their content.
func files(g Gomega, suffix string) map[string]string {
	found := map[string]string{}
	g.Expect(filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, suffix) && !entry.IsDir() {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == ".git" || entry.Name() == "testdata" { // what a test expects of hostile names is no page
				return filepath.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})).To(Succeed())
	return found
}
