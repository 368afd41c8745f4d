package repository_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/repository"
)

// What two revisions have in common is on disk once, and each has what it would have without the other.
func TestARevisionBesideAnotherSharesItsFiles(t *testing.T) {
	g := NewWithT(t)
	dir := newRepository(t)
	write(t, dir, map[string]string{"lib/f.go": "package lib\n", "lib/g.go": "package lib\n"})
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "three")
	git(t, dir, "tag", "v3")
	write(t, dir, map[string]string{"lib/Chart.yaml": "name: lib\n", "lib/g.go": "package other\n", "deploy/new.yaml": "new"})
	git(t, dir, "rm", "-q", "run.sh")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "four")
	t.Chdir(dir)
	base := open(t, "git:v3")
	for spec, beside := range map[string]*repository.Tree{"git:HEAD": base, "git:HEAD:deploy": base, "git:v1": base, "git:v3": open(t, ".")} {
		head, err := repository.OpenBeside(t.Context(), spec, beside)
		g.Expect(err).NotTo(HaveOccurred())
		alone := open(t, spec)
		g.Expect(contents(t, head.Root)).To(Equal(contents(t, alone.Root)), spec)
		g.Expect(head.Relative(head.Dir)).To(Equal(alone.Relative(alone.Dir)))
		g.Expect(head.Notes).To(Equal(alone.Notes))
		changes, err := repository.Changed(alone, head)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(changes).To(BeEmpty())
		if spec == "git:HEAD" {
			g.Expect(isOne(t, head, base, "deploy/app/k.yaml")).To(BeTrue(), "the same file")
			g.Expect(isOne(t, head, base, "lib/f.go")).To(BeFalse(), "it is a file of a chart now, which is read")
			g.Expect(read(t, filepath.Join(head.Root, "lib/f.go"))).To(Equal("package lib\n"))
		}
		before := contents(t, base.Root)
		g.Expect(head.Close()).To(Succeed())
		g.Expect(contents(t, base.Root)).To(Equal(before), "closing one leaves the other")
	}
}

func isOne(t *testing.T, a, b *repository.Tree, name string) bool {
	t.Helper()
	one, err := os.Stat(filepath.Join(a.Root, name))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	other, err := os.Stat(filepath.Join(b.Root, name))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return os.SameFile(one, other)
}

// contents are those of all files of a folder, and what links lead to, by their paths.
func contents(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	NewWithT(t).Expect(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		short, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			found[short], err = os.Readlink(path)
			return err
		}
		content, err := os.ReadFile(path)
		found[short] = string(content)
		return err
	})).To(Succeed())
	return found
}
