package repository

import (
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/memory"
	. "github.com/onsi/gomega"
)

func TestFilesCanBeReadAtTheRemote(t *testing.T) {
	commit := plumbing.NewHash("0123456789012345678901234567890123456789")
	for origin, want := range map[string]string{
		"https://github.com/team/repo.git":             "https://github.com/team/repo/blob/" + commit.String() + "/{file}#L{line}",
		"git@github.com:team/repo.git":                 "https://github.com/team/repo/blob/" + commit.String() + "/{file}#L{line}",
		"https://x-access-token:secret@github.com/a/b": "https://github.com/a/b/blob/" + commit.String() + "/{file}#L{line}",
		"ssh://git@gitlab.example.com:2222/a/b/c.git":  "https://gitlab.example.com/a/b/c/-/blob/" + commit.String() + "/{file}#L{line}",
		"https://codeberg.org/a/b/":                    "https://codeberg.org/a/b/src/commit/" + commit.String() + "/{file}#L{line}",
		"https://bitbucket.org/a/b.git":                "https://bitbucket.org/a/b/src/" + commit.String() + "/{file}#lines-{line}",
		"https://git.example.com/a/b.git":              "",
		"/srv/github/a":                                "",
		"../github":                                    "",
		"https://github.com/":                          "",
	} {
		g := NewWithT(t)
		repository, err := git.Init(memory.NewStorage(), nil)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = repository.CreateRemote(&config.RemoteConfig{Name: "origin", URLs: []string{origin}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(linksOf(repository, commit)).To(Equal(want), origin)
	}
	repository, err := git.Init(memory.NewStorage(), nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(linksOf(repository, commit)).To(BeEmpty(), "there is no remote")
}
