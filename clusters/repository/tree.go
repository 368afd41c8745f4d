package repository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5"
)

// Prefix of what Open takes for a revision. A folder whose name begins so is written ./git:….
const Prefix = "git:"

// Tree is one state of a repository, on disk.
type Tree struct {
	// Name is what Open was called with.
	Name string
	// Root is the folder of the whole repository, absolute and without symbolic links. For a folder that no repository
	// holds it is the folder itself.
	Root string
	// Dir is what is to be built: Root, or a folder or file in it.
	Dir string
	// Notes are what a person should know about the tree, for example which submodules it lacks, each in a sentence
	// without a full stop.
	Notes []string
	// Submodules are the commits of the repository's submodules, by their paths from the root. Their content is in other
	// repositories, and may be missing here.
	Submodules map[string]string

	// Reads are what the answers about this tree were made of.
	Reads Reads

	// Links is where the files of a revision can be read, with {file} and {line} in it, as far as the remote shows;
	// empty otherwise.
	Links string

	temporary string
	// opened is the repository that a revision was read from, nil for a folder.
	opened *git.Repository
	// whole are the files of a revision that were written with their content, by their paths from the root.
	whole map[string]bool
	// hashes are those of all files of a revision, by their paths from the root, nil for a folder.
	hashes map[string]string

	more moreFolders
}

// moreFolders are temporary ones that others have asked for.
type moreFolders struct {
	sync.Mutex

	dirs []string
}

// Open finds or writes a tree. spec is a folder, a file, or git:REVISION[:PATH]. The revision is whatever Git would
// take (a branch, a tag, origin/main, a hash, HEAD~1) in the repository around the working directory. The path is
// relative to the root of the repository, or to the working directory if it begins with ./ or ../, as with `git show`.
//
// The error says what to do: it names revisions that are called nearly so, and how to fetch what a shallow clone lacks.
func Open(ctx context.Context, spec string) (*Tree, error) { return OpenBeside(ctx, spec, nil) }

// OpenBeside is Open for a revision that has most of its files in common with a tree that is open: these are on disk once. Neither
// tree must be written to.
func OpenBeside(ctx context.Context, spec string, beside *Tree) (*Tree, error) {
	opened, err := open(ctx, spec, beside)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec, err)
	}
	opened.Name = spec
	return opened, nil
}

func open(ctx context.Context, spec string, beside *Tree) (*Tree, error) {
	if revision, isRevision := strings.CutPrefix(spec, Prefix); isRevision {
		name, path, _ := strings.Cut(revision, ":")
		return openRevision(ctx, name, path, beside)
	}
	if spec == "" {
		return nil, errors.New("the path is empty; use . for this folder")
	}
	return openFolder(spec)
}

// openFolder takes what is on disk.
func openFolder(path string) (*Tree, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(full)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no such file or folder; for a revision write " + Prefix + "REVISION:PATH")
	}
	if err != nil {
		return nil, err
	}
	root, err := rootOf(dir)
	if err != nil {
		return nil, err
	}
	opened := &Tree{Root: root, Dir: dir}
	opened.readSubmodules()
	return opened, nil
}

// rootOf is the nearest folder upwards that Git keeps, or else the folder itself.
func rootOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	folder := path
	if !info.IsDir() {
		folder = filepath.Dir(path)
	}
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return folder, nil
		}
	}
}

// Relative is how a path is shown to people: from the root of the repository, with slashes. A path outside of it, or the
// name of something that is no file, stays as it is.
func (t *Tree) Relative(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	short, err := filepath.Rel(t.Root, path)
	if err != nil || !filepath.IsLocal(short) {
		return path
	}
	return filepath.ToSlash(short)
}

// Temporary makes a folder outside of the tree, absolute and without symbolic links, which lasts until the tree is closed.
func (t *Tree) Temporary(prefix string) (string, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", err
	}
	t.more.Lock()
	defer t.more.Unlock()
	t.more.dirs = append(t.more.dirs, dir)
	return filepath.EvalSymlinks(dir)
}

// Close removes what Open has written, and Temporary has made. Calling it twice does no harm.
func (t *Tree) Close() error {
	t.more.Lock()
	defer t.more.Unlock()
	var failed error
	for _, dir := range append(t.more.dirs, t.temporary) {
		if dir != "" {
			failed = errors.Join(failed, os.RemoveAll(dir))
		}
	}
	return failed
}
