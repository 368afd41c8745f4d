package repository

import (
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/moult-dev/moult/clusters/network"
)

// forges are what addresses of files look like, by a part of the host's name; %s is the commit.
var forges = []struct{ host, address string }{
	{"github", "/blob/%s/{file}#L{line}"},
	{"gitlab", "/-/blob/%s/{file}#L{line}"},
	{"bitbucket.org", "/src/%s/{file}#lines-{line}"},
	{"codeberg.org", "/src/commit/%s/{file}#L{line}"},
	{"gitea", "/src/commit/%s/{file}#L{line}"},
	{"forgejo", "/src/commit/%s/{file}#L{line}"},
}

// linksOf is where the files of a commit can be read, with {file} and {line} in it: at what the remote origin is called. Empty
// if there is no such remote, or if it is none of the forges that are known.
func linksOf(repository *git.Repository, commit plumbing.Hash) string {
	host, path := network.Remote(originOf(repository))
	host, _, _ = strings.Cut(host, ":") // pages have no port of SSH's
	for _, forge := range forges {
		if strings.Contains(host, forge.host) && path != "" {
			return "https://" + host + "/" + path + strings.Replace(forge.address, "%s", commit.String(), 1)
		}
	}
	return ""
}

// Origin is the address of the remote origin, empty if there is none.
func (t *Tree) Origin() string {
	repository := t.opened
	if repository == nil {
		var err error
		if repository, err = git.PlainOpenWithOptions(t.Root, &git.PlainOpenOptions{EnableDotGitCommonDir: true}); err != nil {
			return ""
		}
	}
	return originOf(repository)
}

func originOf(repository *git.Repository) string {
	origin, err := repository.Remote("origin")
	if err != nil || len(origin.Config().URLs) == 0 {
		return ""
	}
	return origin.Config().URLs[0]
}
