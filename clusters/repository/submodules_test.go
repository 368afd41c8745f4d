package repository_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestASubmoduleIsLeftOutWithANote(t *testing.T) {
	g := NewWithT(t)
	dir, other := newRepository(t), newRepository(t)
	git(t, dir, "submodule", "--quiet", "add", "file://"+other, "vendored")
	git(t, dir, "commit", "-q", "-m", "three")
	t.Chdir(dir)
	opened := open(t, "git:HEAD")
	g.Expect(opened.Notes).To(ConsistOf(ContainSubstring("vendored is a submodule")))
	g.Expect(filepath.Join(opened.Root, "vendored", "base")).NotTo(BeADirectory())
	g.Expect(filepath.Join(opened.Root, "base")).To(BeADirectory())
}

func TestTheCommitsOfSubmodulesAreKnown(t *testing.T) {
	g := NewWithT(t)
	dir, other := newRepository(t), newRepository(t)
	git(t, dir, "submodule", "--quiet", "add", "file://"+other, "lib/vendored")
	git(t, dir, "commit", "-q", "-m", "three")
	worktree := filepath.Join(t.TempDir(), "worktree")
	git(t, dir, "worktree", "add", "-q", worktree, "-b", "linked")
	t.Chdir(dir)
	want := map[string]string{"lib/vendored": git(t, other, "rev-parse", "HEAD")}
	g.Expect(open(t, "git:HEAD").Submodules).To(Equal(want))
	g.Expect(open(t, "git:HEAD~1").Submodules).To(BeEmpty())
	for _, folder := range []string{".", "deploy", worktree} {
		g.Expect(open(t, folder).Submodules).To(Equal(want), "as the index has it")
	}
	g.Expect(os.WriteFile(filepath.Join(dir, ".git", "index"), []byte("no index"), 0o600)).To(Succeed())
	broken := open(t, ".")
	g.Expect(broken.Submodules).To(HaveKey(".gitmodules"), "they are not taken for none")
	g.Expect(broken.Notes).To(ConsistOf(ContainSubstring("it is not known which commits")))
}
