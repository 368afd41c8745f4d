package preview

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

// Of a clone that lacks a file, the rest is judged. What changes where a file lacks is not known, whatever the file is for.
func TestOfACloneThatLacksAFileTheRestIsJudged(t *testing.T) {
	const kustomization, deployment = "resources: [crd.yaml]\n", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n"
	common := map[string]string{
		"deploy/crd.yaml": widgetsCRD, "deploy/kustomization.yaml": kustomization, "other/x.yaml": deployment,
		"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "c/values.yaml": "a: 1\n", "c/templates/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
	}
	for file, before := range map[string]string{
		"deploy/crd.yaml": widgetsCRD, "deploy/kustomization.yaml": kustomization, "other/x.yaml": deployment, "c/values.yaml": "a: 1\n", "README.md": "a\n",
		".github/workflows/x.yaml": "jobs: {}\n", "Makefile": "all:\n", "main.tf": "x\n", "install.sh": "x\n", "c/.argocd-source.yaml": "{}\n", ".moult.yaml": "",
	} {
		for lacks, commit := range map[string]string{"before": "HEAD~2", "after": "HEAD~1", "on both sides": "HEAD"} {
			t.Run(file+" "+lacks, func(t *testing.T) {
				g := clitest.InRepository(t, common)
				git(t, "init", "-q", "-b", "main")
				commitOf(t, map[string]string{file: before})
				commitOf(t, map[string]string{file: before + "# changed\n"})
				commitOf(t, map[string]string{"other/y.yaml": deployment})
				lose(t, commit+":"+file)
				change := []string{"--base", "git:HEAD~2", "--head", "git:HEAD~1"}
				want := cli.ExitUnknown
				if lacks == "on both sides" {
					change, want = []string{"--base", "git:HEAD~1", "--head", "git:HEAD"}, cli.ExitDone
				}
				switch file {
				case "README.md":
					want = cli.ExitDone
				case ".moult.yaml":
					want = cli.ExitError // what is acknowledged is not known
				}
				code, out, errOut := previewed(t, change...)
				g.Expect(code).To(Equal(want), out+errOut)
				if want != cli.ExitDone {
					g.Expect(strings.Join(strings.Fields(out+errOut), " ")).To(ContainSubstring("not in this clone"))
				}
			})
		}
	}
}

// commitOf commits files.
func commitOf(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		NewWithT(t).Expect(os.MkdirAll(filepath.Dir(name), 0o700)).To(Succeed())
		NewWithT(t).Expect(os.WriteFile(name, []byte(content), 0o600)).To(Succeed())
	}
	git(t, "add", ".")
	git(t, "commit", "-q", "-m", "x")
}

// lose takes a blob out of the repository.
func lose(t *testing.T, name string) {
	t.Helper()
	hash, err := exec.CommandContext(t.Context(), "git", "rev-parse", name).Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	object := strings.TrimSpace(string(hash))
	NewWithT(t).Expect(os.Remove(filepath.Join(".git", "objects", object[:2], object[2:]))).To(Succeed())
}
