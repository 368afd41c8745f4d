package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/test/docs"
	"github.com/moult-dev/moult/test/reference"
)

const (
	root = "../.."
	// screens is how many lines a guide may have: three screens.
	screens = 120
)

var comments = regexp.MustCompile(`(?s)<!--.*?-->\n?`)

// pages are files of docs, by their names below it.
func pages(g Gomega, pattern string) map[string]string {
	names, err := filepath.Glob(filepath.Join(root, "docs", pattern))
	g.Expect(err).NotTo(HaveOccurred())
	texts := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		g.Expect(err).NotTo(HaveOccurred())
		below, err := filepath.Rel(filepath.Join(root, "docs"), name)
		g.Expect(err).NotTo(HaveOccurred())
		texts[filepath.ToSlash(below)] = string(text)
	}
	return texts
}

func TestAGuideFitsThreeScreens(t *testing.T) {
	g := NewWithT(t)
	guides := pages(g, "guides/*.md")
	g.Expect(len(guides)).To(BeNumerically(">=", 10))
	for name, text := range guides {
		g.Expect(strings.Count(comments.ReplaceAllString(text, ""), "\n")).To(BeNumerically("<=", screens), name)
	}
}

func TestEveryBlockOfAGuideIsPlayedOrMarked(t *testing.T) {
	g := NewWithT(t)
	for name, text := range pages(g, "guides/*.md") {
		for _, block := range docs.Blocks(text) {
			_, err := block.Action()
			g.Expect(err).NotTo(HaveOccurred(), name)
		}
	}
}

// A person who waits at a gate looks for its reason.
func TestEveryReasonHasARemedy(t *testing.T) {
	g := NewWithT(t)
	var reasons []string
	for _, heading := range []string{"The condition of a CRD", "VersionRemoval"} { // test/reference holds them to the code
		rows, err := reference.Table(heading)
		g.Expect(err).NotTo(HaveOccurred())
		for reason := range rows {
			reasons = append(reasons, reason)
		}
	}
	var explained []string
	for line := range strings.Lines(pages(g, "guides/gate-waits.md")["guides/gate-waits.md"]) {
		if cell, found := strings.CutPrefix(line, "| `"); found {
			cell, _, _ = strings.Cut(cell, " |")
			explained = append(explained, strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune("`, ", r) })...)
		}
	}
	explained = slices.DeleteFunc(explained, func(word string) bool { return word == strings.ToUpper(word) }) // columns
	g.Expect(explained).To(ConsistOf(reasons))
}

func TestTheGlossaryStaysShort(t *testing.T) {
	g := NewWithT(t)
	rows := strings.Count(pages(g, "guides/glossary.md")["guides/glossary.md"], "\n| ") - 1
	g.Expect(rows).To(And(BeNumerically(">", 5), BeNumerically("<=", 15)))
}

// The index and the site have the same four menus, with the same pages in the same order.
func TestTheIndexIsTheNavigation(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join(root, "docs/site/hugo.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var site struct {
		Params struct {
			Navigation []struct {
				Name  string
				Pages []string
			}
		}
	}
	g.Expect(yaml.Unmarshal(content, &site)).To(Succeed())
	index := pages(g, "README.md")["README.md"]
	for i, menu := range strings.Split(index, "\n## ")[1:] {
		name, body, _ := strings.Cut(menu, "\n")
		g.Expect(site.Params.Navigation[i].Name).To(Equal(name))
		var listed []string
		for _, link := range regexp.MustCompile(`(?m)^\| \[.*\]\((.*)\.md\) \|`).FindAllStringSubmatch(body, -1) {
			listed = append(listed, strings.ToLower(path.Join("/docs", link[1])))
		}
		inSite := slices.DeleteFunc(site.Params.Navigation[i].Pages, func(page string) bool { return page == "/" || page == "/docs/readme" })
		g.Expect(listed).To(Equal(inSite), name)
	}
	g.Expect(strings.Count(index, "\n## ")).To(Equal(4))
}
