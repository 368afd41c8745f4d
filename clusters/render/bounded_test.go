package render

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/unpacking"
)

// aliases is an object of 100 KB whose aliases stand for 90 MB.
func aliases() string {
	document := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\na0: &a0 \"" + strings.Repeat("x", 100_000) + "\"\n"
	return document + "data: [" + strings.Repeat("*a0,", 900) + "end]\n"
}

// Without the bound, what the aliases stand for is written out, more than once.
func TestAFileWhoseAliasesStandForMuchIsRefused(t *testing.T) {
	const kustomization = "resources: [object.yaml]\n"
	for name, c := range map[string]struct {
		kustomization string
		build         func(dir string) (*Rendering, error)
	}{
		"a folder without a kustomization": {"", func(dir string) (*Rendering, error) { return Folder(dir, Options{}) }},
		"a kustomization":                  {kustomization, func(dir string) (*Rendering, error) { return Folder(dir, Options{}) }},
		"a kustomization that is confined": {kustomization, func(dir string) (*Rendering, error) { return Folder(dir, Options{Root: dir}) }},
		"Argo CD's way":                    {"", func(dir string) (*Rendering, error) { return Directory(dir, DirectoryOptions{}) }},
		"a stream":                         {"", func(string) (*Rendering, error) { return Stream("object.yaml", strings.NewReader(aliases())) }},
	} {
		t.Run(name, func(t *testing.T) {
			g, dir := NewWithT(t), t.TempDir()
			g.Expect(os.WriteFile(filepath.Join(dir, "object.yaml"), []byte(aliases()), 0o600)).To(Succeed())
			if c.kustomization != "" {
				g.Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(c.kustomization), 0o600)).To(Succeed())
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := c.build(dir)
			runtime.ReadMemStats(&after)
			g.Expect(err).To(MatchError(And(ContainSubstring("object.yaml"), ContainSubstring(unpacking.ErrTooLarge.Error()))))
			g.Expect((after.TotalAlloc - before.TotalAlloc) >> 20).To(BeNumerically("<", 90))
		})
	}
}
