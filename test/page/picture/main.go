// Command picture takes the picture of a preview's page for README.md: `make picture`, or of another page
// `make picture PAGE=preview.html`.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/moult-dev/moult/test/page"
)

func main() {
	var (
		file   = flag.String("page", "", "a page, as moult preview writes it")
		said   = flag.String("comment", "", "a comment, in place of a page")
		out    = flag.String("out", "", "the picture, a PNG")
		scheme = flag.String("scheme", "light", "light or dark")
		width  = flag.Int64("width", 1080, "of the window, in pixels")
		height = flag.Float64("height", 0, "of what is shown from the top, in pixels; 0 is all of it")
	)
	flag.Parse()
	shoot := takePage
	if *said != "" {
		*file, shoot = *said, takeComment
	}
	if err := shoot(*file, *out, *scheme, *width, *height); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// takeComment takes the picture of a comment.
func takeComment(comment, out, scheme string, width int64, height float64) error {
	written, err := commentPage(comment)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(written))
	return takePage(written, out, scheme, width, height)
}

func takePage(file, out, scheme string, width int64, height float64) error {
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
	return os.WriteFile(out, content, 0o644)
}

func shoot(browser context.Context, address, scheme string, width int64, height float64) ([]byte, error) {
	var content []byte
	return content, chromedp.Run(browser,
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		emulation.SetDeviceMetricsOverride(width, 800, 1.5, false),
		chromedp.Navigate(address),
		chromedp.ActionFunc(func(ctx context.Context) error {
			if height == 0 {
				if err := chromedp.Evaluate(`Math.ceil(document.body.getBoundingClientRect().bottom)`, &height).Do(ctx); err != nil {
					return err
				}
			}
			var err error
			content, err = cdppage.CaptureScreenshot().WithCaptureBeyondViewport(true).
				WithClip(&cdppage.Viewport{Width: float64(width), Height: height, Scale: 1}).Do(ctx)
			return err
		}))
}

// smaller is the same picture in the 256 colours that are most frequent in it, packed as well as PNG can: a page has few
// colours but for the edges of its letters.
func smaller(content []byte) ([]byte, error) {
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	indexed := image.NewPaletted(picture.Bounds(), frequent(picture))
	draw.Draw(indexed, indexed.Bounds(), picture, picture.Bounds().Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, indexed)
	return out.Bytes(), err
}

func frequent(picture image.Image) color.Palette {
	counts := map[color.Color]int{}
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			counts[color.NRGBAModel.Convert(picture.At(x, y))]++
		}
	}
	colors := slices.Collect(maps.Keys(counts))
	slices.SortFunc(colors, func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	return colors[:min(256, len(colors))]
}
