package prose_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/test/prose"
)

// programs are the folders of what is shipped.
var programs = []string{"api", "health", "lua", "policies", "controllers", "clusters", "cmd"}

func TestWhatTheProgramsPrintIsPlain(t *testing.T) {
	hold(t, func(path string) ([]string, error) {
		if strings.HasSuffix(path, "_test.go") {
			return nil, nil
		}
		return prose.FindInTexts(path)
	})
}

func TestCommentsArePlain(t *testing.T) { hold(t, prose.FindInComments) }

// hold looks into the Go files of the programs.
func hold(t *testing.T, find func(string) ([]string, error)) {
	t.Helper()
	for _, folder := range programs {
		t.Run(folder, func(t *testing.T) {
			g := NewWithT(t)
			err := filepath.WalkDir("../../"+folder, func(path string, entry fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return err
				case entry.IsDir() && entry.Name() == "testdata":
					return filepath.SkipDir
				case entry.IsDir() || !strings.HasSuffix(path, ".go"):
					return nil
				}
				problems, err := find(path)
				g.Expect(problems).To(BeEmpty())
				return err
			})
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

func TestFindInSource(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "source.go")
	g.Expect(os.WriteFile(path, []byte("package source\n\nimport _ \"is told\"\n\n// Nobody reads.\n//nolint:all // nobody\nvar _ = f(x, \"it cannot open \"+f(\"nobody\")+\", unless it can\")\n\n"+
		"// +marker nobody\n//\n//\tfor nobody\nconst _ = 1 + 2\n"), 0o600)).To(Succeed())
	g.Expect(prose.FindInTexts(path)).To(ConsistOf(
		HaveSuffix(`:7:14: "cannot open VALUE, unless", write only if: it cannot open VALUE, unless it can`),
		HaveSuffix(`:7:34: "nobody", write no client, no user: nobody`)))
	g.Expect(prose.FindInComments(path)).To(ConsistOf(ContainSubstring(`:5:1: "Nobody"`)))
}

func TestPlacesArePlain(t *testing.T) {
	for _, place := range survivors.Embedded() {
		t.Run(place.Name, func(t *testing.T) {
			NewWithT(t).Expect(prose.Find(place.Title + "\n\n" + place.Consequence + "\n\n" + place.Remediation)).To(BeEmpty())
		})
	}
}
