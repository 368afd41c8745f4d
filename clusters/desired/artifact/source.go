package artifact

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/moult-dev/moult/clusters/desired/files"
)

// Source are the files of a Git repository that source-controller hands on: without what it ignores, and without links.
// https://github.com/fluxcd/pkg/blob/main/artifact/storage/archive.go
type Source struct {
	root    *os.Root
	ignored func(path string, isDir bool) bool // by absolute paths
	// address is that of another repository, empty for this one, whose files have places.
	address string
}

// SourceOf are the files of a tree, without what is ignored by its absolute path.
func SourceOf(t *files.Tree, address string, ignored func(path string, isDir bool) bool) (Source, error) {
	root, err := os.OpenRoot(t.Root)
	return Source{root, ignored, address}, err
}

// Open implements fs.FS.
func (s Source) Open(name string) (fs.File, error) {
	if !s.has(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return s.root.Open(name)
}

// Stat implements fs.StatFS.
func (s Source) Stat(name string) (fs.FileInfo, error) {
	if !s.has(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return s.root.Stat(name)
}

// ReadDir implements fs.ReadDirFS.
func (s Source) ReadDir(name string) (found []fs.DirEntry, err error) {
	if !s.has(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	entries, err := fs.ReadDir(s.root.FS(), name)
	for _, entry := range entries {
		if s.has(path.Join(name, entry.Name())) {
			found = append(found, entry)
		}
	}
	return found, err
}

// has reports whether a file or folder is handed on. A folder that is ignored is there if a file below it is not.
func (s Source) has(name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	if name == "." {
		return true
	}
	parts := strings.Split(name, "/")
	for i := range parts[:len(parts)-1] { // a link on the way is none of its folders
		if info, err := s.root.Lstat(path.Join(parts[:i+1]...)); err != nil || !info.IsDir() {
			return false
		}
	}
	info, err := s.root.Lstat(name)
	switch {
	case err != nil || !info.IsDir() && !info.Mode().IsRegular() || ofGit.Match(parts, info.IsDir()):
		return false
	case !s.ignored(filepath.Join(s.root.Name(), name), info.IsDir()):
		return true
	case !info.IsDir():
		return false
	}
	entries, _ := fs.ReadDir(s.root.FS(), name)
	for _, entry := range entries {
		if s.has(path.Join(name, entry.Name())) {
			return true
		}
	}
	return false
}

// ofGit is what is never handed on, and inArtifact what is not in an artifact of source-watcher either.
var (
	ofGit      = gitignore.NewMatcher(files.PatternsIn([]byte(".git/\n.git\n.gitignore\n.gitmodules\n.gitattributes\n"), nil))
	inArtifact = gitignore.NewMatcher(files.PatternsIn([]byte(files.IgnoredByDefault), nil))
)
