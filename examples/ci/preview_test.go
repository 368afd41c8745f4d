package ci_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// writes makes a stand-in write its reports.
const writes = "for a; do case $a in *=*/preview.*|*/codequality.json) echo '" + marker + "' >\"${a#*=}\";; esac; done"

// standIn is a moult that writes down its arguments, an entry a line, does something and ends with a code.
func standIn(t *testing.T, dir, code, does string) map[string]string {
	t.Helper()
	text := "#!/bin/sh\nprintf '%s\\n' \"$@\" >arguments\n" + does + "\nexit " + code + "\n"
	NewWithT(t).Expect(os.WriteFile(filepath.Join(dir, "moult"), []byte(text), 0o700)).To(Succeed()) //nolint:gosec // it is a program
	return map[string]string{"MOULT": filepath.Join(dir, "moult"), "BASE": "abc", "OUT": filepath.Join(dir, "out")}
}

func TestPreviewPassesOnWhatItIsTold(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	env := standIn(t, dir, "0", writes)
	env["FOLDER"], env["FAIL_ON"], env["NAME"], env["ARTIFACT"], env["FORMAT"] = "fleet", "warning", "north", "the page", "annotations"
	env["TRUST_HEAD"], env["MAX_AGE"], env["LINKS"] = "true", "1h", "the/{file}#L{line}"
	env["ENTRIES"] = "clusters/production\nclusters/with space\n\n"
	env["SNAPSHOTS"] = "a=*.yaml\n"
	g.Expect(os.WriteFile(dir+"/a=b.yaml", nil, 0o600)).To(Succeed())
	env["CONTEXTS"] = "a=b"
	env["CHARTS"], env["ALLOW_HOSTS"] = "vendored charts\nmore", "charts.example.com"
	got := script(t, dir, "preview.sh", env)
	g.Expect(got.code).To(BeZero(), got.errOut)
	out := env["OUT"] + "/"
	g.Expect(strings.Split(strings.TrimSpace(read(t, dir+"/arguments")), "\n")).To(Equal([]string{
		"preview", "--base", "git:abc:fleet", "--head", "git:HEAD:fleet", "--marker", "north", "-o", "annotations",
		"--output", "markdown=" + out + "preview.md", "--output", "html=" + out + "preview.html",
		"--output", "json=" + out + "preview.json", "--output", "codequality=" + out + "codequality.json",
		"--trust-head", "--fail-on", "warning", "--max-age", "1h", "--links", "the/{file}#L{line}", "--artifact", "the page",
		"--entry", "clusters/production", "--entry", "clusters/with space", "--snapshot", "a=*.yaml", "--context", "a=b",
		"--charts", "vendored charts", "--charts", "more", "--allow-hosts", "charts.example.com",
	}))
}

func TestPreviewKeepsTheVerdictForTheLastStep(t *testing.T) {
	for _, code := range []string{"0", "1", "3", "4"} {
		t.Run("exit code "+code, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			env := standIn(t, dir, code, writes)
			got := script(t, dir, "preview.sh", env)
			g.Expect(got.code).To(BeZero(), "so that the comment is made")
			g.Expect(read(t, env["OUT"]+"/exit-code")).To(Equal(code + "\n"))
			g.Expect(read(t, env["OUT"]+"/preview.md")).To(Equal(marker + "\n"))
		})
	}
}

// The comment of an earlier commit must not stand there as if it were still true.
func TestAPreviewThatFailsIsACommentToo(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	env := standIn(t, dir, "0", writes)
	g.Expect(script(t, dir, "preview.sh", env).code).To(BeZero())

	env = standIn(t, dir, "2", "echo 'moult: there is no `folder` <b>' >&2")
	got := script(t, dir, "preview.sh", env)
	g.Expect(got.code).To(BeZero())
	g.Expect(got.errOut).To(ContainSubstring("there is no `folder`"))
	g.Expect(read(t, env["OUT"]+"/exit-code")).To(Equal("2\n"))
	said := read(t, env["OUT"]+"/preview.md")
	g.Expect(said).To(HavePrefix(marker + "\n## The preview failed\n"))
	g.Expect(said).To(HaveSuffix("\n\n    moult: there is no `folder` <b>\n"))

	env = standIn(t, dir, "0", "true")
	g.Expect(script(t, dir, "preview.sh", env).code).To(BeZero())
	g.Expect(read(t, env["OUT"]+"/exit-code")).To(Equal("2\n"), "nothing was said, so nothing is known")

	env["MOULT"] = dir + "/nowhere"
	g.Expect(script(t, dir, "preview.sh", env).code).To(BeZero())
	g.Expect(read(t, env["OUT"]+"/exit-code")).To(Equal("127\n"))
}

func TestPreviewAsksForABase(t *testing.T) {
	g := NewWithT(t)
	got := script(t, t.TempDir(), "preview.sh", nil)
	g.Expect(got.code).NotTo(BeZero())
	g.Expect(got.errOut).To(ContainSubstring("set BASE to the revision before the pull request"))
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(content)
}
