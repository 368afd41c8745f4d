package repository_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/clusters/repository/lacking"
)

// git runs a command of Git, without a user's settings.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	)
	out, err := command.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

// write puts files into a folder, by name.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	g := NewWithT(t)
	for name, content := range files {
		file := filepath.Join(dir, name)
		g.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
	}
}

// repository has two commits, of which the first is tagged v1, and a change that is in neither.
func newRepository(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	git(t, dir, "init", "-q", "-b", "main")
	write(t, dir, map[string]string{"base/x.yaml": "one", "deploy/app/k.yaml": "one", "run.sh": "#!/bin/sh\n"})
	g.Expect(os.Chmod(filepath.Join(dir, "run.sh"), 0o700)).To(Succeed())
	g.Expect(os.Symlink("../base", filepath.Join(dir, "deploy", "base"))).To(Succeed())
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "one")
	git(t, dir, "tag", "-a", "v1", "-m", "v1")
	write(t, dir, map[string]string{"base/x.yaml": "two"})
	git(t, dir, "commit", "-q", "-a", "-m", "two")
	write(t, dir, map[string]string{"base/x.yaml": "three, not committed"})
	return dir
}

// open opens a tree that is closed with the test.
func open(t *testing.T, spec string) *repository.Tree {
	t.Helper()
	g := NewWithT(t)
	opened, err := repository.Open(t.Context(), spec)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(opened.Close()).To(Succeed()) })
	return opened
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(content)
}

func TestARevisionIsWhateverGitTakesForOne(t *testing.T) {
	dir := newRepository(t)
	git(t, dir, "update-ref", "refs/remotes/origin/other", "HEAD~1")
	git(t, dir, "branch", "release/1", "HEAD~1")
	first, second := git(t, dir, "rev-parse", "HEAD~1"), git(t, dir, "rev-parse", "HEAD")
	t.Chdir(dir)
	for spec, want := range map[string]string{
		"git:main":         second,
		"git:HEAD":         second,
		"git:HEAD~1":       first,
		"git:main^":        first,
		"git:v1":           first,
		"git:tags/v1":      first,
		"git:origin/other": first,
		"git:release/1":    first,
		"git:" + first:     first,
		"git:" + first[:8]: first,
	} {
		t.Run(spec, func(t *testing.T) {
			g := NewWithT(t)
			opened := open(t, spec)
			g.Expect(opened.Name).To(Equal(spec))
			g.Expect(opened.Dir).To(Equal(opened.Root))
			g.Expect(read(t, filepath.Join(opened.Root, "base/x.yaml"))).To(Equal(map[string]string{first: "one", second: "two"}[want]))
		})
	}
}

func TestTheWholeTreeIsThereWhateverThePath(t *testing.T) {
	dir := newRepository(t)
	for name, c := range map[string]struct{ here, spec, dir string }{
		"a folder":                       {"", "git:main:deploy/app", "deploy/app"},
		"a file":                         {"", "git:main:deploy/app/k.yaml", "deploy/app/k.yaml"},
		"no path":                        {"", "git:main:", "."},
		"a slash at the end":             {"", "git:main:deploy/", "deploy"},
		"from the root, in a folder":     {"deploy", "git:main:deploy/app", "deploy/app"},
		"from where one is, in a folder": {"deploy", "git:main:./app", "deploy/app"},
		"from above, in a folder":        {"deploy/app", "git:main:../../base", "base"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Chdir(filepath.Join(dir, c.here))
			opened := open(t, c.spec)
			g.Expect(opened.Dir).To(Equal(filepath.Join(opened.Root, c.dir)))
			g.Expect(opened.Relative(opened.Dir)).To(Equal(c.dir))
			g.Expect(read(t, filepath.Join(opened.Root, "deploy/base/x.yaml"))).To(Equal("two"), "through a symbolic link")
			g.Expect(opened.Notes).To(BeEmpty())
			run, err := os.Stat(filepath.Join(opened.Root, "run.sh"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(run.Mode().Perm()&0o100).NotTo(BeZero(), "it can be run")
			plain, err := os.Stat(filepath.Join(opened.Root, "base/x.yaml"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(plain.Mode().Perm()&0o100).To(BeZero(), "it cannot")
		})
	}
}

func TestTheRepositoryStaysAsItIs(t *testing.T) {
	g := NewWithT(t)
	dir := newRepository(t)
	write(t, dir, map[string]string{"staged.yaml": "x", "untracked.yaml": "x"})
	git(t, dir, "add", "staged.yaml")
	state := func() string {
		return git(t, dir, "status", "--porcelain=v2", "--branch") + git(t, dir, "for-each-ref") + git(t, dir, "rev-parse", "HEAD") +
			read(t, filepath.Join(dir, "base/x.yaml")) + read(t, filepath.Join(dir, ".git/index"))
	}
	before := state()
	t.Chdir(dir)
	opened, err := repository.Open(t.Context(), "git:v1:deploy")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(opened.Root).To(BeADirectory())
	g.Expect(opened.Close()).To(Succeed())
	g.Expect(opened.Root).NotTo(BeADirectory())
	g.Expect(opened.Close()).To(Succeed(), "twice")
	g.Expect(state()).To(Equal(before))
}

func TestAWorktreeHasTheRevisionsOfItsRepository(t *testing.T) {
	g := NewWithT(t)
	dir := newRepository(t)
	linked := filepath.Join(t.TempDir(), "linked")
	git(t, dir, "worktree", "add", "-q", "-b", "topic", linked, "v1")
	t.Chdir(filepath.Join(linked, "deploy"))
	for spec, want := range map[string]string{"git:main:base/x.yaml": "two", "git:topic:base/x.yaml": "one", "git:HEAD:../base/x.yaml": "one"} {
		g.Expect(read(t, open(t, spec).Dir)).To(Equal(want), spec)
	}
	g.Expect(open(t, linked).Root).To(Equal(open(t, ".").Root))
}

func TestAShallowCloneSaysHowToFetchTheRest(t *testing.T) {
	g := NewWithT(t)
	dir, clone := newRepository(t), filepath.Join(t.TempDir(), "clone")
	git(t, dir, "clone", "-q", "--depth", "1", "file://"+dir, clone)
	t.Chdir(clone)
	g.Expect(read(t, open(t, "git:HEAD:base/x.yaml").Dir)).To(Equal("two"))
	for _, spec := range []string{"git:HEAD~1", "git:v1", "git:nowhere"} {
		_, err := repository.Open(t.Context(), spec)
		g.Expect(err).To(MatchError(And(HavePrefix(spec+": "), ContainSubstring("the clone is shallow"), ContainSubstring("fetch-depth: 0"))))
	}
}

// Git fetches what a partial clone lacks when it is needed, and so do we.
func TestAPartialCloneFetchesWhatIsNeeded(t *testing.T) {
	g := NewWithT(t)
	dir, clone := newRepository(t), filepath.Join(t.TempDir(), "clone")
	git(t, dir, "config", "uploadpack.allowFilter", "true")
	git(t, dir, "config", "uploadpack.allowAnySHA1InWant", "true")
	git(t, dir, "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+dir, clone)
	t.Chdir(clone)
	g.Expect(read(t, filepath.Join(open(t, "git:v1").Root, "base/x.yaml"))).To(Equal("one"))

	g.Expect(os.Rename(dir, dir+".away")).To(Succeed())
	partial := open(t, "git:main")
	g.Expect(partial.Notes).To(ContainElement(And(ContainSubstring("this is a partial clone"), ContainSubstring("could not be fetched from origin"))))
	g.Expect(read(t, filepath.Join(partial.Root, "base/x.yaml"))).To(HavePrefix(lacking.Mark))
}

// Nothing is read but what may matter: of a file of CRDs nothing else, and of programs' text nothing.
func TestOnlyWhatMayMatterIsRead(t *testing.T) {
	g := NewWithT(t)
	dir := newRepository(t)
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  kind: x\n"
	const follows = "---\nkind: Kustomization\n"
	write(t, dir, map[string]string{
		"crds/all.yaml": crd + "---\n" + crd, "crds/more.yaml": crd + follows, "crds/flow.yaml": crd + "---\n{kind: Kustomization}\n", "crds/kustomization.yaml": "kind: CustomResourceDefinition\n",
		"main.go": "package main\n", "charts/x/Chart.yaml": "name: x\n", "charts/x/files/crd.md": crd, ".moult.yaml": "acknowledge: []\n", "up.py": "run(['kubectl'])\n",
	})
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "more")
	t.Chdir(dir)
	alone := open(t, "git:HEAD:crds/all.yaml")
	g.Expect(read(t, alone.Dir)).To(Equal(crd + "---\n" + crd))
	g.Expect(read(t, filepath.Join(alone.Root, ".moult.yaml"))).NotTo(BeEmpty())
	g.Expect(filepath.Join(alone.Root, "base")).NotTo(BeAnExistingFile())
	for _, whole := range []string{"crds/more.yaml", "crds/flow.yaml", "crds/kustomization.yaml", "crds", ""} {
		g.Expect(filepath.Join(open(t, "git:HEAD:"+whole).Root, "base")).To(BeADirectory(), whole)
	}
	g.Expect(read(t, filepath.Join(open(t, "git:HEAD").Root, "charts/x/files/crd.md"))).To(Equal(crd), "a template may take it in")
	g.Expect(read(t, filepath.Join(open(t, "git:HEAD").Root, "up.py"))).To(Equal("run(['kubectl'])\n"), "it may have commands")
	written := read(t, filepath.Join(open(t, "git:HEAD").Root, "main.go"))
	g.Expect(written).To(Equal("blob " + git(t, dir, "rev-parse", "HEAD:main.go") + "\n"))
}

func TestEveryFileIsWritten(t *testing.T) {
	g := NewWithT(t)
	dir := newRepository(t)
	many := map[string]string{}
	for i := range 300 {
		many[fmt.Sprintf("many/%d.yaml", i)] = fmt.Sprint("number ", i)
		many[fmt.Sprintf("many/%d/x.yaml", i%7*i)] = fmt.Sprint("below ", i%7*i)
		many[fmt.Sprintf("deep/%d/b/c/x.yaml", i)] = fmt.Sprint("deep ", i)
	}
	write(t, dir, many)
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "many")
	t.Chdir(dir)
	tree := open(t, "git:HEAD")
	for name, content := range many {
		g.Expect(read(t, filepath.Join(tree.Root, name))).To(Equal(content), name)
	}
	info, err := os.Stat(filepath.Join(tree.Root, "run.sh"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o700)))
}

func TestABareRepositoryHasRevisions(t *testing.T) {
	dir, bare := newRepository(t), filepath.Join(t.TempDir(), "bare.git")
	git(t, dir, "clone", "-q", "--bare", "file://"+dir, bare)
	t.Chdir(bare)
	NewWithT(t).Expect(read(t, open(t, "git:main:base/x.yaml").Dir)).To(Equal("two"))
}

func TestWhatIsOnDiskIsTakenAsItLiesThere(t *testing.T) {
	g := NewWithT(t)
	dir := newRepository(t)
	deploy := open(t, filepath.Join(dir, "deploy"))
	g.Expect(deploy.Root).To(Equal(dir))
	g.Expect(deploy.Dir).To(Equal(filepath.Join(dir, "deploy")))
	g.Expect(deploy.Relative(filepath.Join(dir, "deploy", "app", "k.yaml"))).To(Equal("deploy/app/k.yaml"))
	g.Expect(deploy.Close()).To(Succeed())
	g.Expect(dir).To(BeADirectory(), "it is not ours to remove")
	file := open(t, filepath.Join(dir, "base", "x.yaml"))
	g.Expect(file.Root).To(Equal(dir))
	g.Expect(file.Relative(file.Dir)).To(Equal("base/x.yaml"))
	g.Expect(file.Relative("standard input")).To(Equal("standard input"))
	g.Expect(file.Relative("/etc/hostname")).To(Equal("/etc/hostname"), "it is not in the repository")
	t.Chdir(filepath.Join(dir, "deploy"))
	g.Expect(open(t, "base").Dir).To(Equal(filepath.Join(dir, "base")), "a link is followed")

	plain, err := filepath.EvalSymlinks(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	write(t, plain, map[string]string{"a/x.yaml": "x"})
	g.Expect(open(t, filepath.Join(plain, "a")).Root).To(Equal(filepath.Join(plain, "a")))
	g.Expect(open(t, filepath.Join(plain, "a", "x.yaml")).Root).To(Equal(filepath.Join(plain, "a")))
}

func TestWhatCannotBeOpenedIsNamedWithWhatToDo(t *testing.T) {
	dir := newRepository(t)
	git(t, dir, "update-ref", "refs/remotes/origin/production", "HEAD")
	git(t, dir, "tag", "-a", "folder", "-m", "folder", "HEAD:base")
	for name, c := range map[string]struct{ spec, says string }{
		"a branch that only origin has":  {"git:production", "git:production: revision production is not in this clone; there is origin/production; fetch it first, for example `git fetch origin production`"},
		"a name like no other":           {"git:something-else", "revision something-else is not in this clone; fetch it first, for example `git fetch origin something-else`; in GitHub Actions check out with fetch-depth: 0"},
		"a hash that nobody knows":       {"git:0123456789012345678901234567890123456789", "is not in this clone"},
		"more commits than there are":    {"git:HEAD~7", "revision HEAD~7 is not in this clone"},
		"a tag of something else":        {"git:folder", "revision folder is not in this clone"},
		"no revision":                    {"git:", "it names no revision"},
		"no revision but a path":         {"git::deploy", "it names no revision"},
		"a path that is not there":       {"git:v1:deploy/ap", "has no deploy/ap; in deploy there is app, base"},
		"a path without its folder":      {"git:v1:x/y/z", "has no x/y/z; in its root there is base, deploy, run.sh"},
		"a path outside":                 {"git:main:../x", "../x is outside of the repository"},
		"a path that starts at the root": {"git:main:/etc", "/etc is outside of the repository"},
		"a folder that is not there":     {"nowhere", "nowhere: there is no such file or folder; for a revision write git:REVISION:PATH"},
		"nothing":                        {"", "use . for this folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(dir)
			_, err := repository.Open(t.Context(), c.spec)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

func TestARevisionNeedsARepository(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := repository.Open(t.Context(), "git:main")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("is in no Git repository; run this in one")))
}

func TestNothingIsLeftBehindWhenOpeningIsBrokenOff(t *testing.T) {
	g := NewWithT(t)
	dir, temporary := newRepository(t), t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := repository.Open(ctx, "git:main")
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(filepath.Glob(filepath.Join(temporary, "*"))).To(BeEmpty())
}
