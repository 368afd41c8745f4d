package prose_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/moult-dev/moult/test/prose"
)

// clean are the pages that have been reworded.
var clean = []string{
	"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/runbook.md", "docs/opt-in.md",
	"docs/ownership.md", "docs/doctor.md", "docs/policies.md", "docs/conversion.md",
	"docs/reference.md", "docs/previews.md", "docs/install.md", "docs/correctness.md",
	"docs/backup.md", "docs/survivors.md", "docs/snapshot.md", "docs/label-survival.md", "docs/performance.md", "docs/versions.md", "docs/site/index.md",
	"docs/README.md", "docs/places.md", "docs/real-releases.md", "docs/attacks.md",
}

func TestThePagesArePlain(t *testing.T) {
	for _, page := range clean {
		t.Run(page, func(t *testing.T) { plain(t, "../../"+page) })
	}
}

func TestDecisionsAndExamplesArePlain(t *testing.T) {
	for _, pattern := range []string{"docs/guides/*.md", "docs/decisions/*.md", "examples/*/README.md", "clusters/*/README.md", ".github/*.md"} {
		pages, err := filepath.Glob("../../" + pattern)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(pages).NotTo(BeEmpty(), pattern)
		for _, page := range pages {
			t.Run(page, func(t *testing.T) { plain(t, page) })
		}
	}
}

func plain(t *testing.T, page string) {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(page)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(prose.Find(string(text))).To(BeEmpty())
}

func TestFind(t *testing.T) {
	long := "one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six seven eight nine"
	for name, test := range map[string]struct {
		page string
		want types.GomegaMatcher
	}{
		"a plain sentence":               {"Moult waits. It names the object.", BeEmpty()},
		"a word of the author's":         {"Ask whoever\nowns it.", ConsistOf(HavePrefix(`"whoever"`))},
		"a double negation":              {"It does not open unless all is proved.", ConsistOf(ContainSubstring("only if"))},
		"neither with not":               {"Neither a Job nor a pod is there, and it does not wait.", ConsistOf(ContainSubstring("two sentences"))},
		"negations apart":                {"It does not wait. Set it unless you use Flux.", BeEmpty()},
		"30 words":                       {long + " ten.", BeEmpty()},
		"31 words over two lines":        {long + "\nten one.", ConsistOf(HavePrefix("31 words"))},
		"two short items of a list":      {"- " + long + "\n- " + long, BeEmpty()},
		"what a program prints":          {"```\nnobody\n```\n\nIt prints `nobody`.", BeEmpty()},
		"a block of code within an item": {"- So:\n\n  ```yaml\n  a: nobody\n  ```\n", BeEmpty()},
		"a table that a test writes":     {"<!-- the test writes from here -->\n| is told |\n<!-- to here. -->", BeEmpty()},
		"a link":                         {"[Nobody](whoever.md)", ConsistOf(HavePrefix(`"Nobody"`))},
		"a long cell of a table":         {"| " + long + " ten one | is told |", ConsistOf(HavePrefix(`"is told"`))},
		"a table of a help text":         {"Tests:\n  one    " + long + "\n         and more,\n  and two  is told", ConsistOf(HavePrefix(`"is told"`))},
		"a sentence after such a table":  {"  one    two\n" + long + " ten one.", ConsistOf(HavePrefix("31 words"))},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(prose.Find(test.page)).To(test.want)
		})
	}
}
