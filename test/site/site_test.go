package site

import (
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/net/html"
)

const (
	root       = "../.."
	built      = root + "/bin/site"
	repository = "https://github.com/moult-dev/moult"
)

// page is what the tests look at on a page.
type page struct {
	ids map[string]int
	// links lead the reader elsewhere, and navigation are those of them in the navigation. resources are loaded with the page.
	links, navigation, resources []string
	title, text, policy          string
}

// pages are all pages of the site by their paths.
func pages(g Gomega) map[string]*page {
	all := map[string]*page{}
	g.Expect(fs.WalkDir(os.DirFS(built), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		file, err := os.Open(filepath.Join(built, name))
		if err != nil {
			return err
		}
		defer file.Close()
		document, err := html.Parse(file)
		if err != nil {
			return err
		}
		all[name] = &page{ids: map[string]int{}}
		all[name].read(document, false)
		return nil
	})).To(Succeed(), "`make site` builds it")
	g.Expect(all).To(HaveKey("index.html"))
	return all
}

func (p *page) read(n *html.Node, inside bool) {
	attribute := map[string]string{}
	for _, a := range n.Attr {
		attribute[a.Key] = a.Val
	}
	if id, found := attribute["id"]; found {
		p.ids[id]++
	}
	inside = inside || n.Data == "nav"
	switch {
	case n.Type == html.TextNode:
		p.text += n.Data
	case n.Data == "a":
		p.links = append(p.links, attribute["href"])
		if inside {
			p.navigation = append(p.navigation, attribute["href"])
		}
	case n.Data == "title":
		p.title = n.FirstChild.Data
	case n.Data == "meta" && attribute["http-equiv"] == "Content-Security-Policy":
		p.policy = attribute["content"]
	}
	for _, key := range []string{"src", "srcset", "data", "poster", "action"} {
		if value := attribute[key]; value != "" {
			p.resources = append(p.resources, value)
		}
	}
	if n.Type == html.ElementNode && n.Data == "link" {
		p.resources = append(p.resources, attribute["href"])
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		p.read(child, inside)
	}
}

// resolved is where a relative link of a page leads: a file of the site, and an anchor there.
func resolved(g Gomega, from, link string) (file, anchor string) {
	u, err := url.Parse(link)
	g.Expect(err).NotTo(HaveOccurred(), "%s: %s", from, link)
	if u.Path == "" {
		return from, u.Fragment
	}
	return path.Join(path.Dir(from), u.Path), u.Fragment
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	g := NewWithT(t)
	all := pages(g)
	inside, outside := 0, 0
	for name, p := range all {
		for id, times := range p.ids {
			g.Expect(times).To(Equal(1), "%s has the id %s more than once", name, id)
		}
		for _, link := range p.links {
			g.Expect(link).NotTo(BeEmpty(), name)
			if kept, is := strings.CutPrefix(link, repository+"/"); is {
				if rest, of := strings.CutPrefix(kept, "blob/main/"); of || strings.HasPrefix(kept, "tree/main/") {
					file, _, _ := strings.Cut(strings.TrimPrefix(rest, "tree/main/"), "#")
					g.Expect(filepath.Join(root, file)).To(BeAnExistingFile(), "%s links to %s", name, link)
					outside++
				}
				continue
			}
			if strings.Contains(link, "://") {
				g.Expect(link).To(HavePrefix("https://"), name)
				continue
			}
			inside++
			file, anchor := resolved(g, name, link)
			g.Expect(filepath.Join(built, file)).To(BeARegularFile(), "%s links to %s", name, link)
			if anchor != "" {
				g.Expect(all).To(HaveKey(file), "%s links to %s", name, link)
				g.Expect(all[file].ids).To(HaveKey(anchor), "%s links to %s", name, link)
			}
		}
	}
	g.Expect(inside).To(BeNumerically(">", 1000))
	g.Expect(outside).To(BeNumerically(">", 50))
}

// A page that the navigation does not have is not found; nor is one that is not built.
func TestEveryPageIsInTheNavigation(t *testing.T) {
	g := NewWithT(t)
	all := pages(g)
	want := []string{"index.html", "readme.html", "contributing.html", "changelog.html"}
	for _, pattern := range []string{"docs/*.md", "docs/guides/*.md", "docs/commands/*.md", "docs/decisions/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		g.Expect(err).NotTo(HaveOccurred())
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			g.Expect(err).NotTo(HaveOccurred())
			want = append(want, strings.ToLower(strings.TrimSuffix(filepath.ToSlash(name), ".md"))+".html")
		}
	}
	for name, p := range all {
		var listed []string
		for _, link := range p.navigation {
			if file, anchor := resolved(g, name, link); anchor == "" {
				listed = append(listed, file)
			}
		}
		g.Expect(listed).To(ConsistOf(want), "the navigation of %s", name)
		g.Expect(p.title).NotTo(BeEmpty(), name)
	}
	g.Expect(all).To(HaveLen(len(want)))
}

func TestNothingIsAskedOfAnotherServer(t *testing.T) {
	g := NewWithT(t)
	for name, p := range pages(g) {
		g.Expect(p.policy).To(ContainSubstring("default-src 'none'"), name)
		g.Expect(p.policy).NotTo(Or(ContainSubstring("unsafe"), ContainSubstring("*"), ContainSubstring(":/")), name)
		for _, resource := range p.resources {
			if strings.HasPrefix(resource, "data:") {
				continue
			}
			g.Expect(resource).NotTo(Or(ContainSubstring("://"), HavePrefix("/")), name)
			file, _ := resolved(g, name, resource)
			g.Expect(filepath.Join(built, file)).To(BeARegularFile(), "%s loads %s", name, resource)
		}
	}
	files, err := filepath.Glob(filepath.Join(built, "*.[cj]s*"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(3), "the style, the script and the index")
	for _, file := range files {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		if filepath.Ext(file) != ".json" {
			g.Expect(string(content)).NotTo(Or(ContainSubstring("://"), ContainSubstring("@import")), file)
		}
	}
}

func TestTheIndexHasEverySection(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join(built, "index.json"))
	g.Expect(err).NotTo(HaveOccurred())
	var sections []struct{ URL, Page, Head, Text string }
	g.Expect(json.Unmarshal(content, &sections)).To(Succeed())
	all := pages(g)
	indexed := map[string]bool{}
	for _, s := range sections {
		file, anchor := resolved(g, "index.html", s.URL)
		g.Expect(all).To(HaveKey(file))
		g.Expect(all[file].ids).To(HaveKey(anchor), s.URL)
		g.Expect(s.Head).NotTo(Or(BeEmpty(), ContainSubstring("<"), ContainSubstring("&")), s.URL)
		g.Expect(all[file].text).To(ContainSubstring(s.Head))
		indexed[file+"#"+anchor] = true
	}
	for name, p := range all {
		for id := range p.ids {
			if !slices.Contains([]string{"content", "found", "menu", "navigation", "search", "theme"}, id) {
				g.Expect(indexed).To(HaveKey(name+"#"+id), "every heading is a section")
			}
		}
	}
}

// People come with the words of the API server.
func TestTheFirstPageIsTheErrorAndFourCommits(t *testing.T) {
	g := NewWithT(t)
	first := pages(g)["index.html"]
	g.Expect(first.title).To(HavePrefix("missing from spec.versions; v1alpha1 was previously a storage version"))
	words := strings.Join(strings.Fields(first.text), " ")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, message, found := strings.Cut(string(readme), "```\n")
	g.Expect(found).To(BeTrue())
	message, _, _ = strings.Cut(message, "```")
	g.Expect(words).To(ContainSubstring(strings.Join(strings.Fields(message), " ")))
	g.Expect(words).To(MatchRegexp(`What happens.*Four commits.*1\. .*2\. .*3\. .*4\. `))
}

func TestTheThemeStaysSmall(t *testing.T) {
	g := NewWithT(t)
	lines := 0
	for _, folder := range []string{"layouts", "assets"} {
		g.Expect(fs.WalkDir(os.DirFS(filepath.Join(root, "docs/site")), folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(filepath.Join(root, "docs/site", name))
			lines += strings.Count(string(content), "\n")
			return err
		})).To(Succeed())
	}
	g.Expect(lines).To(And(BeNumerically(">", 100), BeNumerically("<=", 300)))
}
