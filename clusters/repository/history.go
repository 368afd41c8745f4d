package repository

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// History is what a repository was at its tags. It is only read.
type History struct {
	// Root is the folder of the work tree, absolute and without symbolic links.
	Root string

	repository *git.Repository
}

// Tag is one of a history.
type Tag struct {
	Name string
	// When is the day of an annotated tag, and else that of the commit.
	When time.Time

	commit plumbing.Hash
}

// OpenHistory opens the repository around a folder.
func OpenHistory(dir string) (*History, error) {
	full, err := filepath.Abs(dir)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such folder; name a repository", dir)
	}
	if err != nil {
		return nil, err
	}
	repository, err := repositoryAround(full)
	if err != nil {
		return nil, err
	}
	root, err := rootOf(full)
	return &History{Root: root, repository: repository}, err
}

// Tags are those that name a commit, by name.
func (h *History) Tags() ([]Tag, error) {
	refs, err := h.repository.Tags()
	if err != nil {
		return nil, err
	}
	var tags []Tag
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		tag := Tag{Name: ref.Name().Short(), commit: ref.Hash()}
		for {
			annotated, err := h.repository.TagObject(tag.commit)
			if err != nil {
				break // it is the commit, or what Files returns
			}
			tag.commit = annotated.Target
			if tag.When.IsZero() {
				tag.When = annotated.Tagger.When
			}
		}
		if commit, err := h.repository.CommitObject(tag.commit); err == nil && tag.When.IsZero() {
			tag.When = commit.Committer.When
		}
		tags = append(tags, tag)
		return nil
	})
	slices.SortFunc(tags, func(a, b Tag) int { return cmp.Compare(a.Name, b.Name) })
	return tags, err
}

// Shallow reports whether the clone lacks older commits, and so perhaps tags, and what to do about it.
func (h *History) Shallow() (says string, shallow bool) {
	if !isShallow(h.repository) {
		return "", false
	}
	return "the clone is shallow: fetch the tags with `git fetch --unshallow --tags`, in GitHub Actions with fetch-depth: 0, in GitLab with GIT_DEPTH: 0", true
}

// Files are those of a tag. Nothing is written to disk. A file's or a folder's FileInfo has its hash as Sys, a string: what
// has the same hash has the same content.
func (h *History) Files(tag Tag) (fs.FS, error) {
	commit, err := h.repository.CommitObject(tag.commit)
	var tree *object.Tree
	if err == nil {
		tree, err = commit.Tree()
	}
	if err != nil {
		return nil, fmt.Errorf("tag %s: %w", tag.Name, missingObject(h.repository, tag.Name, err))
	}
	return treeFiles{h.repository, tree, tag.Name}, nil
}
