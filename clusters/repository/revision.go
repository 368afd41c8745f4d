package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/moult-dev/moult/policies/words"
)

// openRevision writes a revision of the repository around the working directory.
func openRevision(ctx context.Context, name, path string, beside *Tree) (*Tree, error) {
	here, err := workingDirectory()
	if err != nil {
		return nil, err
	}
	if beside == nil || beside.opened == nil {
		opened, err := repositoryAround(here)
		if err != nil {
			return nil, err
		}
		beside = &Tree{opened: opened}
	}
	repository := beside.opened
	commit, err := commitOf(repository, name)
	if err != nil {
		return nil, err
	}
	inside, err := pathInside(here, path)
	if err != nil {
		return nil, err
	}
	files, err := commit.Tree()
	if err != nil {
		return nil, missingObject(repository, name, err)
	}
	var named *object.TreeEntry
	if inside != "." {
		if named, err = files.FindEntry(inside); err != nil {
			return nil, notInRevision(files, name, commit, inside)
		}
	}
	written := &Tree{Links: linksOf(repository, commit.Hash), opened: repository}
	if err := written.checkOut(ctx, beside, files, inside, named); err != nil {
		return nil, errors.Join(missingObject(repository, name, err), written.Close())
	}
	written.Dir = filepath.Join(written.Root, filepath.FromSlash(inside))
	if _, err := os.Stat(written.Dir); err != nil {
		return nil, errors.Join(fmt.Errorf("%s leads nowhere: %s", inside, strings.Join(written.Notes, "; ")), written.Close())
	}
	return written, nil
}

// repositoryAround opens the nearest repository upwards; a linked worktree shares the objects of its main one.
func repositoryAround(dir string) (*git.Repository, error) {
	repository, err := git.PlainOpenWithOptions(dir, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		repository, err = git.PlainOpen(dir) // a bare one has no .git
	}
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, fmt.Errorf("%s is in no Git repository; run this in one, or name folders in place of revisions", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the Git repository around %s cannot be read: %w", dir, err)
	}
	return reading(repository)
}

// commitOf finds a revision as Git does.
func commitOf(repository *git.Repository, name string) (*object.Commit, error) {
	if name == "" {
		return nil, errors.New("it names no revision; write " + Prefix + "REVISION:PATH, for example " + Prefix + "origin/main:deploy")
	}
	hash, err := repository.ResolveRevision(plumbing.Revision(name))
	if err == nil {
		var commit *object.Commit
		if commit, err = repository.CommitObject(*hash); err == nil {
			return commit, nil
		}
	}
	return nil, unknownRevision(repository, name)
}

// unknownRevision says what a clone may lack. One that CI has made knows branches by their remote names only.
func unknownRevision(repository *git.Repository, name string) error {
	says := fmt.Sprintf("revision %s is not in this clone", name)
	if remote := "origin/" + name; isKnown(repository, remote) {
		says += "; there is " + remote
	}
	if isShallow(repository) {
		says += "; the clone is shallow: fetch the rest with `git fetch --unshallow`, in GitHub Actions with fetch-depth: 0, in GitLab with GIT_DEPTH: 0"
	} else {
		says += "; fetch it first, for example `git fetch origin " + strings.TrimPrefix(name, "origin/") + "`; in GitHub Actions check out with fetch-depth: 0"
	}
	return errors.New(says)
}

func isKnown(repository *git.Repository, name string) bool {
	_, err := repository.ResolveRevision(plumbing.Revision(name))
	return err == nil
}

// missingObject explains why something that a revision consists of is not there.
func missingObject(repository *git.Repository, name string, err error) error {
	if !errors.Is(err, plumbing.ErrObjectNotFound) {
		return err
	}
	if isShallow(repository) {
		return unknownRevision(repository, name)
	}
	return fmt.Errorf("a part of revision %s is not in this clone (%w); a partial clone lacks files until they are asked for: clone without --filter, or let Git reach the remote", name, err)
}

func isShallow(repository *git.Repository) bool {
	ends, err := repository.Storer.Shallow()
	return err == nil && len(ends) > 0
}

// pathInside is a path from the root of the repository, with slashes.
func pathInside(here, given string) (string, error) {
	if strings.HasPrefix(given, "./") || strings.HasPrefix(given, "../") || given == ".." {
		root, err := rootOf(here)
		if err != nil {
			return "", err
		}
		if given, err = filepath.Rel(root, filepath.Join(here, filepath.FromSlash(given))); err != nil {
			return "", err
		}
	}
	inside := path.Clean(filepath.ToSlash(given))
	if !filepath.IsLocal(inside) {
		return "", fmt.Errorf("%s is outside of the repository", given)
	}
	return inside, nil
}

// notInRevision says what there is instead.
func notInRevision(files *object.Tree, name string, commit *object.Commit, inside string) error {
	const few, short = 8, 7
	around := path.Dir(inside)
	for around != "." {
		if below, err := files.Tree(around); err == nil {
			files = below
			break
		}
		around = path.Dir(around)
	}
	there := words.Of(files.Entries, func(entry object.TreeEntry) string { return entry.Name })
	if len(there) > few {
		there = append(there[:few], "…")
	}
	where := "its root"
	if around != "." {
		where = around
	}
	return fmt.Errorf("revision %s (%s) has no %s; in %s there is %s", name, commit.Hash.String()[:short], inside, where, strings.Join(there, ", "))
}
