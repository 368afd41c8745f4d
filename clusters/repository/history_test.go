package repository_test

import (
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/repository"
)

func TestTheFilesOfTagsAreReadWhereGitKeepsThem(t *testing.T) {
	g := NewWithT(t)
	dir := newRepository(t)
	git(t, dir, "tag", "two", "main")
	git(t, dir, "tag", "-a", "again", "-m", "again", "v1")
	git(t, dir, "tag", "folder", "main:base")
	h, err := repository.OpenHistory(filepath.Join(dir, "deploy"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(h.Root).To(Equal(dir))
	_, shallow := h.Shallow()
	g.Expect(shallow).To(BeFalse())
	tags, err := h.Tags()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tags).To(HaveExactElements(HaveField("Name", "again"), HaveField("Name", "folder"), HaveField("Name", "two"), HaveField("Name", "v1")))

	hashes := map[string]any{}
	for name, want := range map[string]string{"v1": "one", "two": "two", "again": "one"} {
		for _, tag := range tags {
			if tag.Name != name {
				continue
			}
			g.Expect(tag.When).To(BeTemporally("~", time.Now(), time.Hour), name)
			files, err := h.Files(tag)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(fs.ReadFile(files, "base/x.yaml")).To(BeEquivalentTo(want), name)
			info, err := fs.Stat(files, "base")
			g.Expect(err).NotTo(HaveOccurred())
			hashes[name] = info.Sys()
			sub, err := fs.Sub(files, "deploy/app")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(fstest.TestFS(sub, "k.yaml")).To(Succeed())
			for _, missing := range []string{"nowhere", "base/nowhere", "base/x.yaml/y", "nowhere/x.yaml"} {
				_, err = fs.ReadFile(files, missing)
				g.Expect(err).To(MatchError(fs.ErrNotExist), missing)
			}
			_, err = fs.ReadFile(files, "deploy/base")
			g.Expect(err).To(MatchError(ContainSubstring("it is no file")), "a link is not followed")
			_, err = fs.ReadFile(files, "base")
			g.Expect(err).To(MatchError(ContainSubstring("it is no file")))
		}
	}
	g.Expect(hashes["v1"]).To(Equal(hashes["again"]))
	g.Expect(hashes["v1"]).NotTo(Equal(hashes["two"]))
	_, err = h.Files(tags[1])
	g.Expect(err).To(MatchError(HavePrefix("tag folder: ")))
}

func TestAHistoryNeedsARepository(t *testing.T) {
	g := NewWithT(t)
	_, err := repository.OpenHistory(t.TempDir())
	g.Expect(err).To(MatchError(ContainSubstring("is in no Git repository")))
	_, err = repository.OpenHistory("nowhere")
	g.Expect(err).To(MatchError(ContainSubstring("there is no such folder")))
}
