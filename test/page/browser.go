// Package page looks at the preview's HTML page and the site in a real browser, headless Chromium: does it need nothing but itself,
// can it be read in light and dark, on a phone and on paper, and do its links go where they say.
//
// The pages are those of policies/preview/output/testdata, of which that folder's own tests say that they are what is
// written today. `make test-full PARTS=page` runs the tests and needs a Chromium; with PAGE_FLAGS="-screenshots DIR" it also takes
// pictures to look at.
package page

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/chromedp/chromedp"
)

// programs are what a Chromium is called.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// Find is the browser that the environment names in CHROMIUM, or the first in the PATH.
func Find() (string, error) {
	if named := os.Getenv("CHROMIUM"); named != "" {
		return named, nil
	}
	for _, name := range programs {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", errors.New("there is no Chromium to look at the page with: install one (on Debian `apt-get install --no-install-recommends chromium`), or name one in CHROMIUM")
}

// Start runs a headless browser that has no network and keeps its files in folder. The browser ends with the context, or
// with what is returned.
func Start(ctx context.Context, folder string) (context.Context, context.CancelFunc, error) {
	program, err := Find()
	if err != nil {
		return nil, nil, err
	}
	allocator, endAllocator := chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(program), chromedp.UserDataDir(folder), chromedp.WSURLReadTimeout(patience),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true),
		// The network is off: no name is found, and there is no proxy where all else would have to go through.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"),
		chromedp.Flag("proxy-server", "127.0.0.1:9"), chromedp.Flag("proxy-bypass-list", "<-loopback>"),
	)
	browser, endBrowser := chromedp.NewContext(allocator)
	end := func() { endBrowser(); endAllocator() }
	if err := chromedp.Run(browser); err != nil {
		end()
		return nil, nil, fmt.Errorf("start %s: %w", program, err)
	}
	return browser, end, nil
}

// Address is where the browser finds a file.
func Address(file string) (string, error) {
	absolute, err := filepath.Abs(file)
	return "file://" + absolute, err
}
