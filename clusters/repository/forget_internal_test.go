package repository

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	. "github.com/onsi/gomega"
)

// What was read of Git's objects is in the files that were written, and is not held beside them.
func TestWhatWasReadIsForgotten(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	g.Expect(os.WriteFile("a.yaml", []byte("a: b\n"), 0o600)).To(Succeed())
	git := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	git("repack", "-q", "-a", "-d")
	tree, err := Open(t.Context(), "git:HEAD")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(tree.Close()).To(Succeed()) })
	hash := plumbing.NewHash(git("rev-parse", "HEAD:a.yaml"))
	shared, isShared := tree.opened.Storer.(*sharing)
	g.Expect(isShared).To(BeTrue())
	_, held := shared.read.Get(hash)
	g.Expect(held).To(BeFalse())
	_, err = tree.opened.BlobObject(hash)
	g.Expect(err).NotTo(HaveOccurred())
	_, held = shared.read.Get(hash)
	g.Expect(held).To(BeTrue(), "the storage remembers")
}
