package output

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/preview"
)

var update = flag.Bool("update", false, "write what the samples look like into testdata")

var (
	links    = Links("https://git.example.com/team/repo/blob/4f1c0de/{file}#L{line}")
	comments = MarkdownOptions{Name: "crds", Full: "https://ci.example.com/runs/7/preview.html", Links: links}
)

// formats are the files of each sample's folder.
var formats = map[string]func(preview.Report) ([]byte, error){
	"report.json":      JSON,
	"codequality.json": CodeQuality,
	"comment.md":       func(r preview.Report) ([]byte, error) { return []byte(Markdown(r, comments)), nil },
	"annotations.txt":  func(r preview.Report) ([]byte, error) { return []byte(Annotations(r)), nil },
	"terminal.txt":     func(r preview.Report) ([]byte, error) { return written(r, false) },
	"terminal.ansi":    func(r preview.Report) ([]byte, error) { return written(r, true) },
	"page.html": func(r preview.Report) ([]byte, error) {
		var out bytes.Buffer
		err := HTML(&out, r, PageOptions{Links: links})
		return out.Bytes(), err
	},
}

func written(r preview.Report, color bool) ([]byte, error) {
	var out bytes.Buffer
	err := Text(&out, r, color, 100)
	return out.Bytes(), err
}

// What a report looks like is best judged by looking at it: read testdata after -update.
func TestEverySampleLooksAsItDid(t *testing.T) {
	for sample, report := range samples {
		for file, format := range formats {
			t.Run(sample+"/"+file, func(t *testing.T) {
				g := NewWithT(t)
				got, err := format(report)
				g.Expect(err).NotTo(HaveOccurred())
				golden := filepath.Join("testdata", sample, file)
				if *update {
					g.Expect(os.MkdirAll(filepath.Dir(golden), 0o750)).To(Succeed())
					g.Expect(os.WriteFile(golden, got, 0o600)).To(Succeed())
				}
				want, err := os.ReadFile(golden)
				g.Expect(err).NotTo(HaveOccurred(), "write it with -update")
				g.Expect(string(got)).To(Equal(string(want)))
			})
		}
	}
}

// The JSON is read again by test/page and by those who keep reports.
func TestAReportSurvivesItsJSON(t *testing.T) {
	for sample, report := range samples {
		if sample == "names-that-are-written-to-break-things" {
			continue // JSON holds no bytes that are not UTF-8
		}
		t.Run(sample, func(t *testing.T) {
			g := NewWithT(t)
			content, err := JSON(report)
			g.Expect(err).NotTo(HaveOccurred())
			var read preview.Report
			g.Expect(json.Unmarshal(content, &read)).To(Succeed())
			again, err := JSON(read)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(again)).To(Equal(string(content)))
		})
	}
}
