package repository_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/repository"
)

// A revision is compared by what Git has stored, and a folder by what is in it.
func TestTheFilesThatDiffer(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	git := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
	}
	write := func(name, content string) {
		t.Helper()
		g.Expect(os.MkdirAll(filepath.Dir(name), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(name, []byte(content), 0o600)).To(Succeed())
	}
	names := func(base, head string) (names []string) {
		t.Helper()
		before, after := open(t, base), open(t, head)
		changed, err := repository.Changed(before, after)
		g.Expect(err).NotTo(HaveOccurred())
		for _, c := range changed {
			names = append(names, c.Name)
		}
		return names
	}
	git("init", "-q", "-b", "main")
	write("same.yaml", "a: b\n")
	write("app/other.yaml", "a: b\n")
	write("program.go", "package x\n")
	write("gone.yaml", "a: b\n")
	g.Expect(os.Symlink("same.yaml", "link.yaml")).To(Succeed())
	git("add", ".")
	git("update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,sub")
	git("commit", "-q", "-m", "one")

	g.Expect(os.MkdirAll("sub", 0o750)).To(Succeed()) // as Git leaves it
	g.Expect(names("git:HEAD", ".")).To(BeEmpty(), "the working folder is as the commit")

	write("app/other.yaml", "a: c\n")
	write("new.yaml", "a: b\n")
	g.Expect(os.Remove("gone.yaml")).To(Succeed())
	g.Expect(os.Remove("link.yaml")).To(Succeed())
	g.Expect(os.Symlink("new.yaml", "link.yaml")).To(Succeed())
	want := []string{"app/other.yaml", "gone.yaml", "link.yaml", "new.yaml"}
	g.Expect(names("git:HEAD", ".")).To(Equal(want))

	git("add", "same.yaml", "app", "new.yaml", "link.yaml", "gone.yaml")
	git("update-index", "--add", "--cacheinfo", "160000,2222222222222222222222222222222222222222,sub")
	git("commit", "-q", "-m", "two")
	g.Expect(names("git:HEAD~1", "git:HEAD")).To(Equal(append(want, "sub")))

	write("before/x.yaml", "a: b\n")
	write("after/x.yaml", "a: c\n")
	g.Expect(names("before", "after")).To(Equal([]string{"after/x.yaml"}), "two folders of one repository")
}

func TestWhatWasReadIsKnown(t *testing.T) {
	g := NewWithT(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	at := func(name string) string { return filepath.Join(dir, name) }
	g.Expect(os.MkdirAll(at("hidden/folder"), 0o750)).To(Succeed())
	g.Expect(os.WriteFile(at("hidden/folder/x.yaml"), nil, 0o600)).To(Succeed())
	g.Expect(os.Symlink("hidden/folder", at("link"))).To(Succeed())
	var reads repository.Reads
	reads.File(at("link/x.yaml"))
	reads.File(at("not/there.yaml"))
	reads.Folder(at("chart"))
	for name, want := range map[string]bool{
		"link/x.yaml": true, "hidden/folder/x.yaml": true, "link": true, "not/there.yaml": true, "chart/templates/x.yaml": true, "chart": true,
		"other.yaml": false, "hidden/folder/y.yaml": false, "not": false, "charts/x.yaml": false,
	} {
		g.Expect(reads.Has(at(name))).To(Equal(want), name)
	}
	g.Expect(reads.Below(at("not"))).To(BeTrue())
	g.Expect(reads.Below(at("no"))).To(BeFalse())
}

// What Git LFS has fetched is read in place of its pointer.
func TestTheContentOfAPointerIsReadIfTheCloneHasIt(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	const content = "kind: CustomResourceDefinition\n"
	sum := sha256.Sum256([]byte(content))
	oid := hex.EncodeToString(sum[:])
	pointer := func(oid string) string {
		return "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 31\n"
	}
	for name, text := range map[string]string{"here.yaml": pointer(oid), "elsewhere.yaml": pointer(strings.Repeat("0", 64))} {
		g.Expect(os.WriteFile(name, []byte(text), 0o600)).To(Succeed())
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "one"}} {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
	}
	object := filepath.Join(".git", "lfs", "objects", oid[:2], oid[2:4], oid)
	g.Expect(os.MkdirAll(filepath.Dir(object), 0o750)).To(Succeed())
	g.Expect(os.WriteFile(object, []byte(content), 0o600)).To(Succeed())
	worktree := filepath.Join(t.TempDir(), "worktree")
	out, err := exec.CommandContext(t.Context(), "git", "worktree", "add", "-q", worktree).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	for _, dir := range []string{".", worktree} {
		t.Chdir(dir)
		tree := open(t, "git:HEAD")
		g.Expect(read(t, filepath.Join(tree.Root, "here.yaml"))).To(Equal(content), dir)
		g.Expect(read(t, filepath.Join(tree.Root, "elsewhere.yaml"))).To(ContainSubstring("oid sha256:000"))
	}
}
