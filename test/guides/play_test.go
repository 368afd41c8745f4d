package guides

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/docs"
	"github.com/moult-dev/moult/test/running"
)

func TestMain(m *testing.M) {
	running.Quiet()
	os.Exit(m.Run())
}

// Each guide has a control plane of its own, since it installs Moult, and policies, under the names that are on the page.
func TestGuides(t *testing.T) {
	guides, err := filepath.Glob(filepath.Join(root, "docs/guides/*.md"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, guide := range guides {
		t.Run(strings.TrimSuffix(filepath.Base(guide), ".md"), func(t *testing.T) {
			text, err := os.ReadFile(guide)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			p := begin(t)
			for _, block := range docs.Blocks(string(text)) {
				p.play(block)
			}
		})
	}
}
