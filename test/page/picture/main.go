// Command picture takes the picture of a preview's page for README.md: `make picture`, or of another page
// `make picture PAGE=preview.html`.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image/png"
	"os"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/moult-dev/moult/test/page"
)

func main() {
	var (
		file   = flag.String("page", "", "a page, as moult preview writes it")
		out    = flag.String("out", "", "the picture, a PNG")
		scheme = flag.String("scheme", "light", "light or dark")
		width  = flag.Int64("width", 1080, "of the window, in pixels")
		height = flag.Float64("height", 0, "of what is shown from the top, in pixels; 0 is all of it")
	)
	flag.Parse()
	if err := take(*file, *out, *scheme, *width, *height); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func take(file, out, scheme string, width int64, height float64) error {
	address, err := page.Address(file)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	browser, end, err := page.Start(context.Background(), folder)
	if err != nil {
		return err
	}
	defer end()
	content, err := shoot(browser, address, scheme, width, height)
	if err != nil {
		return fmt.Errorf("take a picture of %s: %w", file, err)
	}
	if content, err = smaller(content); err != nil {
		return err
	}
	return os.WriteFile(out, content, 0o600)
}

func shoot(browser context.Context, address, scheme string, width int64, height float64) ([]byte, error) {
	var content []byte
	return content, chromedp.Run(browser,
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		emulation.SetDeviceMetricsOverride(width, 800, 1.5, false),
		chromedp.Navigate(address),
		chromedp.ActionFunc(func(ctx context.Context) error {
			if height == 0 {
				if err := chromedp.Evaluate(`document.documentElement.scrollHeight`, &height).Do(ctx); err != nil {
					return err
				}
			}
			var err error
			content, err = cdppage.CaptureScreenshot().WithCaptureBeyondViewport(true).
				WithClip(&cdppage.Viewport{Width: float64(width), Height: height, Scale: 1}).Do(ctx)
			return err
		}))
}

// smaller is the same picture, packed as well as PNG can.
func smaller(content []byte) ([]byte, error) {
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, picture)
	return out.Bytes(), err
}
