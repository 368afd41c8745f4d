package output

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/finding"
)

func TestTextOfSomebodyElseMeansNothingInMarkdown(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a pipe, which would begin a cell":           {"a|b", "a&#124;b"},
		"a comment, which might be another's marker": {"<!-- x -->", "&lt;!-- x --&gt;"},
		"an end of what is folded":                   {"</details>", "&lt;/details&gt;"},
		"a mention":                                  {"ask @team", "ask @&#8203;team"},
		"a reference to an issue":                    {"see #12", "see #&#8203;12"},
		"emphasis":                                   {"a_b_ *c*", `a\_b\_ \*c\*`},
		"a link":                                     {"[x](y)", `\[x\](y)`},
		"a line break":                               {"a\r\n\r\n# b", "a #&#8203; b"},
		"a list at the beginning":                    {"1. x", `1\. x`},
		"an address":                                 {"see https://x.example/a now", "see `https://x.example/a` now"},
		"an address that code cannot bear":           {"https://x.example/a|b", "<code>https:&#8203;//x.example/a&#124;b</code>"},
		"what the sentence itself calls code":        {"run `moult rewrite` now", "run `moult rewrite` now"},
		"code that holds a pipe":                     {"run `a|b`", "run <code>a&#124;b</code>"},
		"a single backquote":                         {"a`b", "a&#96;b"},
		"an emoji's name":                            {":tada: a:12:b", ":&#8203;tada: a:&#8203;12:b"},
		"a formula":                                  {"$a$", "<span>$</span>a<span>$</span>"},
		"an entity":                                  {"&copy;", "&amp;copy;"},
		"characters that turn text around":           {"a\u202eb\u200bc", "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(escape(c.text)).To(Equal(c.want))
		})
	}
}

func TestALinkGoesToTheFileAndNowhereElse(t *testing.T) {
	const template = Links("https://git.example.com/r/{file}#L{line}")
	for name, c := range map[string]struct {
		links Links
		place finding.Place
		want  string
	}{
		"a line of a file":                {template, finding.Place{File: "crds/a.yaml", Line: 3}, "https://git.example.com/r/crds/a.yaml#L3"},
		"a file without a line":           {template, finding.Place{File: "crds/a.yaml"}, "https://git.example.com/r/crds/a.yaml"},
		"no file":                         {template, finding.Place{Line: 3}, ""},
		"a name that ends the link":       {template, finding.Place{File: "a) b(c", Line: 1}, "https://git.example.com/r/a%29%20b%28c#L1"},
		"a name like a place holder":      {template, finding.Place{File: "{line}", Line: 1}, "https://git.example.com/r/%7Bline%7D#L1"},
		"no template":                     {"", finding.Place{File: "crds/a.yaml", Line: 3}, "./crds/a.yaml"},
		"a name that looks like a scheme": {"", finding.Place{File: "javascript:alert(1)"}, "./javascript%3Aalert%281%29"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.links.to(c.place)).To(Equal(c.want))
		})
	}
}

func TestAMarkerIsOneCommentWhateverItsName(t *testing.T) {
	for name, c := range map[string]struct{ name, want string }{
		"none":                       {"", "<!-- moult preview: default -->"},
		"one":                        {"crds of team/a", "<!-- moult preview: crds of team/a -->"},
		"one that ends the comment":  {"a --> b", "<!-- moult preview: a - b -->"},
		"one that ends it otherwise": {"a--!>b", "<!-- moult preview: a-b -->"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Marker(c.name)).To(Equal(c.want))
		})
	}
}
