package page

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	. "github.com/onsi/gomega"
)

var (
	samples     = flag.String("samples", "../../policies/preview/output/testdata", "a folder of folders with a page.html and its report.json")
	screenshots = flag.String("screenshots", "", "a folder for pictures of every page, in light and dark")
)

// blob is where the links to files go on these pages.
const blob = "https://git.example.com/team/repo/blob/4f1c0de/"

var browser context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "chromium-")
	if err == nil {
		defer os.RemoveAll(folder)
		var end context.CancelFunc
		if browser, end, err = Start(context.Background(), folder); err == nil {
			defer end()
			return m.Run()
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// tab is one report's page, open in the browser, and all that it did wrong.
type tab struct {
	*WithT
	ctx    context.Context
	name   string
	report report

	mu                 sync.Mutex
	requests, outcries []string
}

// report is what the tests look for on the page of a preview's report.
type report struct {
	Clusters []struct{ Name string }
	CRDs     []struct {
		Removed  []string
		Clusters []struct{ Cluster string }
	}
}

// everyPage runs a test on the page of each sample.
func everyPage(t *testing.T, test func(*tab)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(*samples, "*", "page.html"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(len(files)).To(BeNumerically(">=", 6), "pages in %s", *samples)
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) { test(open(t, file, name)) })
	}
}

// open shows a page with no script allowed; the browser has no network.
func open(t *testing.T, file, name string) *tab {
	t.Helper()
	tab := &tab{WithT: NewWithT(t), name: name}
	content, err := os.ReadFile(filepath.Join(filepath.Dir(file), "report.json"))
	tab.Expect(err).NotTo(HaveOccurred())
	tab.Expect(json.Unmarshal(content, &tab.report)).To(Succeed())
	address, err := Address(file)
	tab.Expect(err).NotTo(HaveOccurred())
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	ctx, giveUp := context.WithTimeout(ctx, patience)
	t.Cleanup(giveUp)
	tab.ctx = ctx
	chromedp.ListenTarget(ctx, tab.hear)
	tab.do(network.Enable(), log.Enable(), runtime.Enable(), emulation.SetScriptExecutionDisabled(true), cdppage.BringToFront(),
		chromedp.EmulateViewport(1280, 900), chromedp.Navigate(address))
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.Expect(tab.requests).To(ConsistOf(address), "the page itself is all that is asked for")
	tab.requests = nil
	return tab
}

// hear notes what a page asks for and complains about.
func (t *tab) hear(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "data:") {
			t.requests = append(t.requests, e.Request.URL)
		}
	case *log.EventEntryAdded:
		t.outcries = append(t.outcries, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		t.outcries = append(t.outcries, fmt.Sprintf("%s: %v", e.Type, e.Args))
	case *runtime.EventExceptionThrown:
		t.outcries = append(t.outcries, e.ExceptionDetails.Text)
	case *cdppage.EventJavascriptDialogOpening:
		t.outcries = append(t.outcries, "dialog: "+e.Message)
	}
}

func (t *tab) do(actions ...chromedp.Action) {
	t.Expect(chromedp.Run(t.ctx, actions...)).To(Succeed())
}

// ask evaluates an expression in the page. A page's own policy does not hold for whoever debugs it.
func ask[T any](t *tab, expression string) T {
	var answer T
	t.do(chromedp.Evaluate(expression, &answer))
	return answer
}

func (t *tab) scheme(scheme string) {
	t.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

func (t *tab) unfoldAll() {
	ask[bool](t, `document.querySelectorAll("details").forEach(d => d.open = true) || true`)
}

// quiet asserts that a page has neither asked for anything nor complained.
func (t *tab) quiet() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Expect(t.requests).To(BeEmpty(), "requests")
	t.Expect(t.outcries).To(BeEmpty(), "what the console says")
}
