package ci_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

const quiet = "<!-- moult preview: default -->\n<!-- moult preview has nothing to say -->\n## ✅ Safe: no CRD changes\n\n`a` → `b`: no CRD changes.\n"

// A pull request about something else gets no comment, and one that used to be about CRDs gets its comment put right.
func TestWhereNoCRDChangesThereIsNoComment(t *testing.T) {
	for name, c := range map[string]struct {
		open   func(*testing.T) *host
		script string
		env    func(*host) map[string]string
		author string
	}{
		"GitHub": {gitHub, "comment-github.sh", onGitHub, bot},
		"GitLab": {gitLab, "comment-gitlab.sh", onGitLab, "project_bot"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := c.open(t)
			env := c.env(h)
			summary := filepath.Join(t.TempDir(), "summary")
			env["GITHUB_STEP_SUMMARY"] = summary
			got := script(t, ".", c.script, env, written(t, "preview.md", quiet))
			g.Expect(got.code).To(BeZero(), got.errOut)
			g.Expect(h.bodies(c.author)).To(BeEmpty())
			if name == "GitHub" {
				g.Expect(os.ReadFile(summary)).To(BeEquivalentTo("✅ Safe: no CRD changes\n"))
			} else {
				g.Expect(got.out).To(ContainSubstring("Safe: no CRD changes"))
			}

			g.Expect(script(t, ".", c.script, env, written(t, "preview.md", report)).code).To(BeZero())
			g.Expect(script(t, ".", c.script, env, written(t, "preview.md", quiet)).code).To(BeZero())
			g.Expect(h.bodies(c.author)).To(Equal([]string{quiet}))
		})
	}
}
