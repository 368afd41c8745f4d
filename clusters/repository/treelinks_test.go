package repository_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestNoLinkLeadsOutOfTheTree(t *testing.T) {
	dir, secret := newRepository(t), filepath.Join(t.TempDir(), "secret")
	NewWithT(t).Expect(os.WriteFile(secret, []byte("s"), 0o600)).To(Succeed())
	for name, c := range map[string]struct {
		links map[string]string
		out   []string // what is omitted
	}{
		"an absolute one":                {map[string]string{"a": secret}, []string{"a"}},
		"one with dots":                  {map[string]string{"a": "../../../../../../../../etc/hostname"}, []string{"a"}},
		"one through another":            {map[string]string{"a": "b/passwd", "b": "/etc"}, []string{"a", "b"}},
		"one into the tree":              {map[string]string{"a": "base/x.yaml"}, nil},
		"one that leads nowhere":         {map[string]string{"a": "nowhere"}, nil},
		"one to the tree's own root":     {map[string]string{"deploy/a": ".."}, nil},
		"one above the root, and back":   {map[string]string{"a": "../" + filepath.Base(dir) + "/base"}, []string{"a"}},
		"one that leads in a circle":     {map[string]string{"a": "a"}, []string{"a"}},
		"one in a folder of its own too": {map[string]string{"deep/er/a": secret}, []string{"deep/er/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			git(t, dir, "checkout", "-q", "--force", "--detach", "main")
			for link, target := range c.links {
				g.Expect(os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o750)).To(Succeed())
				g.Expect(os.Symlink(target, filepath.Join(dir, link))).To(Succeed())
			}
			git(t, dir, "add", ".")
			git(t, dir, "commit", "-q", "-m", "links")
			t.Chdir(dir)
			opened := open(t, "git:HEAD")
			for link := range c.links {
				_, err := os.Lstat(filepath.Join(opened.Root, link))
				if len(c.out) == 0 {
					g.Expect(err).NotTo(HaveOccurred(), link)
				}
			}
			for _, link := range c.out {
				_, err := os.Stat(filepath.Join(opened.Root, link))
				g.Expect(err).To(MatchError(os.ErrNotExist), link)
			}
			g.Expect(len(opened.Notes) > 0).To(Equal(len(c.out) > 0), strings.Join(opened.Notes, "\n"))
		})
	}
}
