package page

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	. "github.com/onsi/gomega"
)

// open has seen that the page is all that was asked for; this is about what happens when a person uses it.
func TestAPageNeedsNothingButItself(t *testing.T) {
	everyPage(t, func(tab *tab) {
		tab.unfoldAll()
		tab.do(chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight)`, nil), chromedp.Evaluate(`scrollTo(0, 0)`, nil))
		tab.Expect(ask[string](tab, `document.querySelector("h1").innerText`)).NotTo(BeEmpty())
		tab.Expect(ask[int](tab, `document.styleSheets.length`)).To(Equal(1), "the style is applied")
		tab.quiet()
	})
}

func TestTheMatrixHasACellForEachVersionInEachCluster(t *testing.T) {
	everyPage(t, func(tab *tab) {
		lines := 0
		for _, crd := range tab.report.CRDs {
			lines += max(1, len(crd.Removed))
		}
		clusters := clustersOf(tab.report)
		cells := lines * len(clusters)
		if len(clusters) == 0 {
			lines = 0
		}
		tab.Expect(ask[int](tab, `document.querySelectorAll(".matrix tbody tr").length`)).To(Equal(lines))
		tab.Expect(ask[int](tab, `document.querySelectorAll(".matrix tbody td").length`)).To(Equal(cells))
		tab.Expect(ask[int](tab, `document.querySelectorAll(".matrix tbody td .badge").length`)).To(Equal(cells), "each says its verdict")
		tab.Expect(ask[[]string](tab, `[...document.querySelectorAll(".matrix tbody td .badge")].filter(b => !/\w{4,}/.test(b.innerText)).map(b => b.innerText)`)).
			To(BeEmpty(), "in a word, not in colour alone")
	})
}

func clustersOf(r report) map[string]bool {
	names := map[string]bool{}
	for _, c := range r.Clusters {
		names[c.Name] = true
	}
	for _, crd := range r.CRDs {
		for _, in := range crd.Clusters {
			names[in.Cluster] = true
		}
	}
	return names
}

func TestEveryLinkInsideGoesSomewhere(t *testing.T) {
	everyPage(t, func(tab *tab) {
		hrefs := ask[[]string](tab, `[...document.querySelectorAll("a[href^='#']")].map(a => a.getAttribute("href"))`)
		tab.Expect(len(hrefs)).To(BeNumerically(">=", 6))
		for i, href := range hrefs {
			if i > 20 {
				break // they are all made by the same line
			}
			tab.do(chromedp.Evaluate(`scrollTo(0, 0); history.replaceState(null, "", "#")`, nil))
			tab.Expect(ask[int](tab, fmt.Sprintf(`document.querySelectorAll(%q).length`, href))).To(Equal(1), href)
			tab.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelectorAll("a[href^='#']")[%d].focus()`, i), nil), chromedp.KeyEvent("\r"))
			tab.Expect(ask[string](tab, `location.hash`)).To(Equal(href))
			tab.Expect(ask[bool](tab, fmt.Sprintf(`(r => r.top > -1 && r.top < innerHeight)(document.querySelector(%q).getBoundingClientRect())`, href))).
				To(BeTrue(), "%s is on the screen", href)
		}
		tab.quiet()
	})
}

func TestLinksToFilesGoToTheRepositoryAndNowhereElse(t *testing.T) {
	everyPage(t, func(tab *tab) {
		for _, href := range ask[[]string](tab, `[...document.querySelectorAll("a:not([href^='#'])")].map(a => a.href)`) {
			tab.Expect(href).To(HavePrefix(blob))
		}
	})
}

func TestAVerdictUnfoldsWithoutAScript(t *testing.T) {
	everyPage(t, func(tab *tab) {
		if ask[int](tab, `document.querySelectorAll("summary").length`) == 0 {
			tab.Expect(ask[int](tab, `document.querySelectorAll(".matrix td").length`)).To(BeZero())
			return
		}
		before := ask[bool](tab, `document.querySelector("details").open`)
		tab.do(chromedp.Click(`summary`, chromedp.ByQuery))
		tab.Expect(ask[bool](tab, `document.querySelector("details").open`)).To(Equal(!before))
		tab.Expect(ask[string](tab, `document.querySelector("summary").title`)).NotTo(BeEmpty(), "what hovering tells")
	})
}

// Names come from manifests that anybody may have written.
func TestNothingInAReportBecomesPartOfThePage(t *testing.T) {
	everyPage(t, func(tab *tab) {
		tab.Expect(ask[int](tab, `document.querySelectorAll("script, img, iframe, object, embed, form, base").length`)).To(BeZero())
		tab.Expect(ask[[]string](tab, `[...document.querySelectorAll("*")].flatMap(e => [...e.attributes]).filter(a => /^on/.test(a.name) || /^\s*javascript:/i.test(a.value)).map(a => a.name)`)).To(BeEmpty())
	})
}

func TestAPageIsBuiltForAScreenReader(t *testing.T) {
	everyPage(t, func(tab *tab) {
		tab.Expect(ask[string](tab, `document.documentElement.lang`)).To(Equal("en"))
		tab.Expect(ask[int](tab, `document.querySelectorAll("h1").length`)).To(Equal(1))
		levels := ask[[]int](tab, `[...document.querySelectorAll("h1, h2, h3, h4")].map(h => Number(h.tagName[1]))`)
		for i := 1; i < len(levels); i++ {
			tab.Expect(levels[i]).To(BeNumerically("<=", levels[i-1]+1), "no level of headings is left out")
		}
		tab.Expect(ask[int](tab, `document.querySelectorAll("th:not([scope])").length`)).To(BeZero(), "headings of tables without a scope")
		tab.Expect(ask[int](tab, `[...document.querySelectorAll("table")].filter(t => !t.caption || !t.tHead).length`)).To(BeZero(), "tables without a caption or a head")
		tab.Expect(ask[int](tab, `(ids => ids.length - new Set(ids).size)([...document.querySelectorAll("[id]")].map(e => e.id))`)).To(BeZero(), "ids that occur twice")
		tab.Expect(ask[[]string](tab, `[...document.querySelectorAll("[aria-labelledby]")].map(e => e.getAttribute("aria-labelledby")).filter(id => !document.getElementById(id))`)).To(BeEmpty())
	})
}
