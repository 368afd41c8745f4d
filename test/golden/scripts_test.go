package golden_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// What examples/ci runs in pipelines gives the same verdicts and the same comments.
func TestThePipelinesScriptPassesOnTheVerdict(t *testing.T) {
	all := pulls(t)
	dir := newRepository(t, all)
	script, err := filepath.Abs("../../examples/ci/scripts/preview.sh")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, p := range all {
		if p.name != "safe-removal" && p.name != "blocked-by-stored-versions" && p.name != "unknown-cluster" {
			continue // the verdicts are what matters here
		}
		t.Run(p.name, func(t *testing.T) {
			g := NewWithT(t)
			out, snapshots := t.TempDir(), ""
			for _, cluster := range p.Snapshots {
				snapshots += cluster + "=" + p.copied(g, cluster, dir) + "\n"
			}
			command := exec.CommandContext(t.Context(), "sh", script)
			command.Dir = dir
			command.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + out, "MOULT=" + moult, "BASE=main", "HEAD=" + p.name, "NAME=golden", "OUT=" + out,
				"MAX_AGE=0", "ENTRIES=clusters/production\nclusters/staging", "SNAPSHOTS=" + snapshots, "FORMAT=annotations",
			}
			said, err := command.CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(said))
			code, err := os.ReadFile(out + "/exit-code")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(code)).To(Equal(string(rune('0'+p.Exit)) + "\n"))
			p.compare(g, "expected.md", out+"/preview.md")
			p.compare(g, "expected.json", out+"/preview.json")
			g.Expect(out + "/preview.html").To(BeAnExistingFile())
			g.Expect(out + "/codequality.json").To(BeAnExistingFile())
		})
	}
}

// A preview that cannot be made is told with the marker that moult itself would write.
func TestThePipelinesScriptReportsAnError(t *testing.T) {
	g := NewWithT(t)
	dir, out := newRepository(t, nil), t.TempDir()
	command := exec.CommandContext(t.Context(), "sh", "-c", `"$SCRIPT"; cat "$OUT/exit-code"`)
	script, err := filepath.Abs("../../examples/ci/scripts/preview.sh")
	g.Expect(err).NotTo(HaveOccurred())
	command.Dir = dir
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + out, "MOULT=" + moult, "BASE=nowhere", "NAME=golden", "OUT=" + out, "SCRIPT=" + script}
	said, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(said))
	g.Expect(string(said)).To(HaveSuffix("\n2\n"))
	comment, err := os.ReadFile(out + "/preview.md")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(comment)).To(HavePrefix("<!-- moult preview: golden -->\n## The preview failed\n"))
	g.Expect(string(comment)).To(ContainSubstring("    moult: --base: git:nowhere: revision nowhere is not in this clone"))
}
