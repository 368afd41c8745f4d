package repository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// RevisionOf is the revision that is named where Open takes a folder, a file or a revision; false for the other two.
func RevisionOf(spec string) (revision string, is bool) {
	inside, is := strings.CutPrefix(spec, Prefix)
	revision, _, _ = strings.Cut(inside, ":")
	return revision, is
}

// Committed is what a revision of the repository around the working directory has at the path of a file. The error is
// fs.ErrNotExist if the revision has no file there, which is so for each path outside of the repository.
func Committed(ctx context.Context, revision, file string) ([]byte, error) {
	here, err := workingDirectory()
	if err != nil {
		return nil, err
	}
	return CommittedAround(ctx, here, revision, file)
}

// CommittedAround is the same for the repository around another folder, which is absolute and without symbolic links.
func CommittedAround(ctx context.Context, here, revision, file string) ([]byte, error) {
	inside, err := insideOf(here, file)
	if err != nil {
		return nil, err
	}
	repository, err := repositoryAround(here)
	if err != nil {
		return nil, err
	}
	commit, err := commitOf(repository, revision)
	if err != nil {
		return nil, err
	}
	files, err := commit.Tree()
	if err != nil {
		return nil, missingObject(repository, revision, err)
	}
	entry, err := files.FindEntry(inside)
	if err != nil || !entry.Mode.IsFile() {
		return nil, fmt.Errorf("%s in %s: %w", inside, revision, fs.ErrNotExist)
	}
	if err := fetchMissing(ctx, repository, []plumbing.Hash{entry.Hash}); err != nil {
		return nil, err
	}
	blob, err := repository.BlobObject(entry.Hash)
	if err != nil {
		return nil, missingObject(repository, revision, err)
	}
	content, err := object.NewFile(inside, entry.Mode, blob).Contents()
	return []byte(content), err
}

// Inside is the path of a file or folder from the root of the repository around the working directory, with slashes; false
// if it is outside of it.
func Inside(file string) (inside string, is bool) {
	here, err := workingDirectory()
	if err != nil {
		return "", false
	}
	inside, err = insideOf(here, file)
	return inside, err == nil
}

// insideOf takes the path as it is written, since a link in it may be what a revision has changed.
func insideOf(here, file string) (string, error) {
	root, err := rootOf(here)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(here, file)
	}
	inside, err := filepath.Rel(root, file)
	if err != nil || !filepath.IsLocal(inside) {
		return "", errors.Join(fmt.Errorf("%s is outside of the repository: %w", file, fs.ErrNotExist), err)
	}
	return filepath.ToSlash(inside), nil
}

// workingDirectory is absolute and without symbolic links.
func workingDirectory() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(here)
}
