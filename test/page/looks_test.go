package page

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	. "github.com/onsi/gomega"
)

// faint is a text whose contrast is too low.
type faint struct {
	Text       string  `json:"text"`
	Ratio      float64 `json:"ratio"`
	Color      string  `json:"color"`
	Background string  `json:"background"`
}

// contrasts measures every text against what lies behind it, as WCAG 2 does.
const contrasts = `(() => {
	const parse = color => { const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number); return {r, g, b, a}; };
	const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
	const luminance = c => 0.2126 * channel(c.r) + 0.7152 * channel(c.g) + 0.0722 * channel(c.b);
	const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (parse(c).a === 1) return c; } return "rgb(255, 255, 255)"; };
	const measured = (text, e, style) => {
		const back = parse(style.backgroundColor).a === 1 ? style.backgroundColor : behind(e);
		const [a, b] = [luminance(parse(style.color)), luminance(parse(back))].sort((x, y) => y - x);
		return {text: text.trim().slice(0, 60), ratio: (a + 0.05) / (b + 0.05), color: style.color, background: back};
	};
	const all = [];
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const e = walker.currentNode.parentElement;
		if (walker.currentNode.textContent.trim() && e.checkVisibility()) all.push(measured(walker.currentNode.textContent, e, getComputedStyle(e)));
	}
	for (const e of document.querySelectorAll("body *")) for (const part of ["::before", "::after"]) {
		const style = getComputedStyle(e, part);
		if (/^"[^"]*\S[^"]*"$/.test(style.content) && e.checkVisibility()) all.push(measured(style.content, e, style));
	}
	return all;
})()`

func TestEveryTextCanBeReadInLightAndDark(t *testing.T) {
	everyPage(t, func(tab *tab) {
		tab.unfoldAll()
		backgrounds := map[string]string{}
		pictures := map[string][]byte{}
		for _, scheme := range []string{"light", "dark"} {
			tab.scheme(scheme)
			all := ask[[]faint](tab, contrasts)
			tab.Expect(len(all)).To(BeNumerically(">", 20), "texts on the page")
			for _, text := range all {
				tab.Expect(text.Ratio).To(BeNumerically(">=", 4.5), "%s: %q is %s on %s", scheme, text.Text, text.Color, text.Background)
			}
			backgrounds[scheme] = ask[string](tab, `getComputedStyle(document.body).backgroundColor`)
			var picture []byte
			tab.do(chromedp.CaptureScreenshot(&picture))
			pictures[scheme] = picture
		}
		tab.Expect(backgrounds["light"]).NotTo(Equal(backgrounds["dark"]))
		tab.Expect(bytes.Equal(pictures["light"], pictures["dark"])).To(BeFalse())
		tab.quiet()
	})
}

// wide are the elements that reach beyond the window, except for the row of links, which scrolls.
const wide = `[...document.querySelectorAll("body *")].filter(e => !e.closest("nav") && e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1)
	.map(e => e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 40))`

func TestNothingReachesBeyondAPhone(t *testing.T) {
	everyPage(t, func(tab *tab) {
		for _, width := range []int64{375, 320, 768, 1280} {
			tab.do(emulation.SetDeviceMetricsOverride(width, 800, 1, width < 500))
			for _, unfold := range []bool{false, true} {
				if unfold {
					tab.unfoldAll()
				}
				tab.Expect(ask[[]string](tab, wide)).To(BeEmpty(), "%d px, unfolded: %t", width, unfold)
				tab.Expect(ask[int64](tab, `document.documentElement.scrollWidth`)).To(BeNumerically("<=", width), "%d px, unfolded: %t", width, unfold)
			}
		}
	})
}

func TestAPhoneShowsWhoseVerdictItIs(t *testing.T) {
	everyPage(t, func(tab *tab) {
		tab.do(emulation.SetDeviceMetricsOverride(375, 800, 1, true))
		tab.Expect(ask[int](tab, `[...document.querySelectorAll(".matrix td .cluster")].filter(e => !e.checkVisibility()).length`)).To(BeZero())
	})
}

func TestPaperShowsWhatIsFolded(t *testing.T) {
	everyPage(t, func(tab *tab) {
		ask[bool](tab, `document.querySelectorAll("details").forEach(d => d.open = false) || true`)
		tab.do(emulation.SetEmulatedMedia().WithMedia("print"))
		hidden := ask[[]string](tab, `[...document.querySelectorAll("details > :not(summary)")].filter(e => e.getBoundingClientRect().height === 0 || !e.checkVisibility({contentVisibilityAuto: true})).map(e => e.textContent)`)
		tab.Expect(hidden).To(BeEmpty())
		tab.Expect(ask[bool](tab, `document.querySelector("nav").checkVisibility()`)).To(BeFalse(), "links are of no use on paper")
	})
}

// Pictures are for a person to look at: nothing else reports whether a page is beautiful.
func TestPictures(t *testing.T) {
	if *screenshots == "" {
		return // nobody asked for them
	}
	NewWithT(t).Expect(os.MkdirAll(*screenshots, 0o750)).To(Succeed())
	everyPage(t, func(tab *tab) {
		if tab.name == "more-findings-than-a-comment-can-bear" {
			return // too long for a picture
		}
		for _, width := range []int64{1200, 375} {
			for _, scheme := range []string{"light", "dark"} {
				tab.scheme(scheme)
				tab.do(emulation.SetDeviceMetricsOverride(width, 900, 1, width < 500))
				var picture []byte
				tab.do(chromedp.FullScreenshot(&picture, 100))
				file := filepath.Join(*screenshots, fmt.Sprintf("%s-%s-%d.png", tab.name, scheme, width))
				tab.Expect(os.WriteFile(file, picture, 0o600)).To(Succeed())
			}
		}
	})
}
