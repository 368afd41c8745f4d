package repository_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestACloneThatSharesItsObjectsHasThem(t *testing.T) {
	for _, how := range [][]string{{"--shared"}, {"--reference", "."}} {
		dir, clone := newRepository(t), filepath.Join(t.TempDir(), "clone")
		git(t, dir, append(append([]string{"clone", "-q"}, how...), "file://"+dir, clone)...)
		if how[0] == "--shared" {
			NewWithT(t).Expect(os.RemoveAll(clone)).To(Succeed())
			git(t, dir, "clone", "-q", "--shared", dir, clone)
		}
		t.Chdir(clone)
		NewWithT(t).Expect(read(t, open(t, "git:v1:base/x.yaml").Dir)).To(Equal("one"), how[0])
	}
}

// A clone may share with one that shares itself, in packs, and have other worktrees.
func TestAChainOfClonesHasItsObjects(t *testing.T) {
	g := NewWithT(t)
	dir := newRepository(t)
	git(t, dir, "gc", "-q")
	first, second, tree := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second"), filepath.Join(t.TempDir(), "tree")
	git(t, dir, "clone", "-q", "--shared", dir, first)
	write(t, first, map[string]string{"base/x.yaml": "three"})
	git(t, first, "add", ".")
	git(t, first, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "three")
	git(t, dir, "clone", "-q", "--shared", first, second)
	git(t, second, "worktree", "add", "-q", tree)
	for _, clone := range []string{second, tree} {
		t.Chdir(clone)
		for revision, want := range map[string]string{"v1": "one", "HEAD~1": "two", "HEAD": "three", strings.TrimSpace(git(t, dir, "rev-parse", "--short", "v1")): "one"} {
			g.Expect(read(t, open(t, "git:"+revision+":base/x.yaml").Dir)).To(Equal(want), clone+" "+revision)
		}
	}
}
