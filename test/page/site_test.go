package page

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	. "github.com/onsi/gomega"
)

const (
	site   = "../../bin/site" // what `make site` builds
	siteAt = "http://moult.test/"
)

// serve answers what the browser asks for with files of the site. Nothing goes to a network.
func (t *tab) serve(event any) {
	paused, is := event.(*fetch.EventRequestPaused)
	if !is {
		return
	}
	go func() { // the browser waits for it, so the listener must not
		ctx := cdp.WithExecutor(t.ctx, chromedp.FromContext(t.ctx).Target)
		name, ours := strings.CutPrefix(paused.Request.URL, siteAt)
		name, _, _ = strings.Cut(name, "#")
		content, err := os.ReadFile(filepath.Join(site, filepath.FromSlash(name)))
		if !ours || err != nil {
			_ = fetch.FailRequest(paused.RequestID, network.ErrorReasonNameNotResolved).Do(ctx)
			return
		}
		_ = fetch.FulfillRequest(paused.RequestID, 200).WithBody(base64.StdEncoding.EncodeToString(content)).
			WithResponseHeaders([]*fetch.HeaderEntry{{Name: "Content-Type", Value: mime.TypeByExtension(path.Ext(name))}}).Do(ctx)
	}()
}

// openSite shows a page of the site.
func openSite(t *testing.T, name string) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	ctx, giveUp := context.WithTimeout(ctx, patience)
	t.Cleanup(giveUp)
	tab := &tab{WithT: NewWithT(t), name: name, ctx: ctx}
	chromedp.ListenTarget(ctx, tab.hear)
	chromedp.ListenTarget(ctx, tab.serve)
	tab.do(network.Enable(), log.Enable(), runtime.Enable(), fetch.Enable(), cdppage.BringToFront(), chromedp.EmulateViewport(1280, 900), chromedp.Navigate(siteAt+name))
	return tab
}

// everySitePage runs a test on each page of the site.
func everySitePage(t *testing.T, test func(*tab)) {
	t.Helper()
	var names []string
	NewWithT(t).Expect(fs.WalkDir(os.DirFS(site), ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".html" {
			names = append(names, name)
		}
		return err
	})).To(Succeed(), "`make site` builds it")
	NewWithT(t).Expect(len(names)).To(BeNumerically(">", 20))
	for _, name := range names {
		t.Run(name, func(t *testing.T) { test(openSite(t, name)) })
	}
}

// asksOnlyItself asserts that all requests were for the site, and that the console is silent.
func (t *tab) asksOnlyItself() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Expect(t.requests).NotTo(BeEmpty())
	t.Expect(t.requests).To(HaveEach(HavePrefix(siteAt)))
	t.Expect(t.outcries).To(BeEmpty(), "what the console says")
}

const background = `getComputedStyle(document.body).backgroundColor`

func TestTheSiteCanBeReadOnAPhone(t *testing.T) {
	everySitePage(t, func(tab *tab) {
		for _, width := range []int64{1280, 768, 375, 320} {
			tab.do(emulation.SetDeviceMetricsOverride(width, 800, 1, width < 500))
			tab.Expect(ask[int64](tab, `document.documentElement.scrollWidth`)).To(BeNumerically("<=", width), "%d px", width)
			tab.Expect(ask[float64](tab, `parseFloat(getComputedStyle(document.querySelector("main p")).fontSize)`)).To(BeNumerically(">=", 16))
			tab.Expect(ask[bool](tab, `document.getElementById("navigation").checkVisibility()`)).To(Equal(width > 900), "navigation at %d px", width)
		}
		tab.do(chromedp.Click("#menu", chromedp.ByQuery))
		tab.Expect(ask[bool](tab, `document.querySelector("#navigation a").checkVisibility()`)).To(BeTrue(), "the menu opens")
		tab.asksOnlyItself()
	})
}

func TestEveryTextOfTheSiteCanBeReadInLightAndDark(t *testing.T) {
	everySitePage(t, func(tab *tab) {
		backgrounds := map[string]string{}
		for _, scheme := range []string{"light", "dark"} {
			tab.scheme(scheme)
			for _, text := range ask[[]faint](tab, contrasts) {
				tab.Expect(text.Ratio).To(BeNumerically(">=", 4.5), "%s: %q is %s on %s", scheme, text.Text, text.Color, text.Background)
			}
			backgrounds[scheme] = ask[string](tab, background)
		}
		tab.Expect(backgrounds["light"]).NotTo(Equal(backgrounds["dark"]))
	})
}

func TestTheSwitchBetweenLightAndDark(t *testing.T) {
	tab := openSite(t, "docs/install.html")
	tab.scheme("light")
	light := ask[string](tab, background)
	tab.do(chromedp.Click("#theme", chromedp.ByQuery))
	dark := ask[string](tab, background)
	tab.Expect(dark).NotTo(Equal(light))
	tab.do(chromedp.Navigate(siteAt + "readme.html"))
	tab.Expect(ask[string](tab, background)).To(Equal(dark), "another page keeps it")
	tab.do(chromedp.Click("#theme", chromedp.ByQuery))
	tab.scheme("dark")
	tab.Expect(ask[string](tab, background)).To(Equal(light), "the switch wins over the system")
	tab.do(chromedp.Evaluate(`localStorage.clear()`, nil))
	tab.asksOnlyItself()
}

func TestTheSearch(t *testing.T) {
	const found = `[...document.querySelectorAll("#found a")].map(a => a.href)`
	for words, want := range map[string]string{
		"previously a storage version": "index.html#",
		"rollout status":               "docs/install.html#",
		"--settle":                     "readme.html#",
	} {
		t.Run(words, func(t *testing.T) {
			tab := openSite(t, "docs/decisions/0002-two-walks.html")
			tab.do(chromedp.SendKeys("#search", words, chromedp.ByQuery), chromedp.WaitVisible("#found a", chromedp.ByQuery))
			tab.Eventually(func() string { return ask[[]string](tab, found+`.concat("")`)[0] }, patience/2, "50ms").Should(HavePrefix(siteAt + want))
			first := ask[[]string](tab, found)[0]
			tab.do(chromedp.SendKeys("#search", "\r", chromedp.ByQuery))
			tab.Eventually(func() string { return ask[string](tab, `location.href`) }, patience/2, "50ms").Should(Equal(first))
			_, anchor, _ := strings.Cut(first, "#")
			tab.Eventually(func() bool {
				return ask[bool](tab, fmt.Sprintf(`(e => !!e && e.getBoundingClientRect().top < innerHeight)(document.getElementById(%q))`, anchor))
			}, patience/2, "50ms").Should(BeTrue(), "the section is on the screen")
			tab.asksOnlyItself()
		})
	}
	t.Run("what no section has", func(t *testing.T) {
		tab := openSite(t, "index.html")
		tab.do(chromedp.SendKeys("#search", "storage xylophone", chromedp.ByQuery))
		tab.Eventually(func() string { return ask[string](tab, `document.getElementById("found").innerText`) }, patience/2, "50ms").Should(Equal("No section has all of these words."))
	})
}

func TestPicturesOfTheSite(t *testing.T) {
	if *screenshots == "" {
		return // nobody asked for them
	}
	NewWithT(t).Expect(os.MkdirAll(*screenshots, 0o750)).To(Succeed())
	for _, name := range []string{"index.html", "docs/install.html", "docs/reference.html"} {
		tab := openSite(t, name)
		for _, width := range []int64{1280, 375} {
			for _, scheme := range []string{"light", "dark"} {
				tab.scheme(scheme)
				tab.do(emulation.SetDeviceMetricsOverride(width, 900, 1, width < 500))
				var picture []byte
				tab.do(chromedp.CaptureScreenshot(&picture))
				file := filepath.Join(*screenshots, fmt.Sprintf("site-%s-%s-%d.png", strings.TrimSuffix(path.Base(name), ".html"), scheme, width))
				tab.Expect(os.WriteFile(file, picture, 0o600)).To(Succeed())
			}
		}
	}
}
