package repository

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// treeFiles is a tree of Git as a file system. Symbolic links and submodules are listed, and cannot be opened.
type treeFiles struct {
	repository *git.Repository
	tree       *object.Tree
	revision   string
}

var (
	_ fs.ReadDirFS  = treeFiles{}
	_ fs.ReadFileFS = treeFiles{}
	_ fs.StatFS     = treeFiles{}
)

func (t treeFiles) entry(operation, name string) (*object.TreeEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: operation, Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return &object.TreeEntry{Name: ".", Mode: filemode.Dir, Hash: t.tree.Hash}, nil
	}
	found, err := t.tree.FindEntry(name)
	if errors.Is(err, object.ErrEntryNotFound) || errors.Is(err, object.ErrDirectoryNotFound) || errors.Is(err, object.ErrFileNotFound) || err != nil && t.belowFile(name) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, &fs.PathError{Op: operation, Path: name, Err: missingObject(t.repository, t.revision, err)}
	}
	return found, nil
}

// belowFile reports whether a path leads through a file as if it were a folder.
func (t treeFiles) belowFile(name string) bool {
	around, err := t.entry("stat", path.Dir(name))
	return errors.Is(err, fs.ErrNotExist) || err == nil && around.Mode != filemode.Dir
}

// Stat has the kind and the hash of a file or folder, and not the size.
func (t treeFiles) Stat(name string) (fs.FileInfo, error) {
	found, err := t.entry("stat", name)
	if err != nil {
		return nil, err
	}
	return treeInfo{path.Base(name), found}, nil
}

// ReadDir lists a folder.
func (t treeFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	listed := t.tree
	if _, err := t.entry("open", name); err != nil {
		return nil, err
	}
	if name != "." {
		below, err := t.tree.Tree(name)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: missingObject(t.repository, t.revision, err)}
		}
		listed = below
	}
	entries := make([]fs.DirEntry, 0, len(listed.Entries))
	for i := range listed.Entries {
		entries = append(entries, fs.FileInfoToDirEntry(treeInfo{listed.Entries[i].Name, &listed.Entries[i]}))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// ReadFile reads a file, which a partial clone fetches.
func (t treeFiles) ReadFile(name string) ([]byte, error) {
	found, err := t.entry("read", name)
	if err == nil && !found.Mode.IsFile() || err == nil && found.Mode == filemode.Symlink {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("it is no file")}
	}
	if err != nil {
		return nil, err
	}
	if err := fetchMissing(context.Background(), t.repository, []plumbing.Hash{found.Hash}); err != nil {
		return nil, err
	}
	blob, err := t.repository.BlobObject(found.Hash)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: missingObject(t.repository, t.revision, err)}
	}
	content, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }() // it was only read
	return io.ReadAll(content)
}

// Open opens a file, or a folder to be listed.
func (t treeFiles) Open(name string) (fs.File, error) {
	found, err := t.entry("open", name)
	if err != nil {
		return nil, err
	}
	opened := &openedEntry{info: treeInfo{path.Base(name), found}}
	if found.Mode == filemode.Dir {
		opened.listed, err = t.ReadDir(name)
		return opened, err
	}
	content, err := t.ReadFile(name)
	opened.Reader = bytes.NewReader(content)
	return opened, err
}

// openedEntry is a file with its content, or a folder with its entries.
type openedEntry struct {
	*bytes.Reader

	info   treeInfo
	listed []fs.DirEntry
}

func (o *openedEntry) Stat() (fs.FileInfo, error) { return o.info, nil }
func (*openedEntry) Close() error                 { return nil }

// Read reads a file; a folder has nothing to read.
func (o *openedEntry) Read(into []byte) (int, error) {
	if o.Reader == nil {
		return 0, &fs.PathError{Op: "read", Path: o.info.name, Err: errors.New("it is a folder")}
	}
	return o.Reader.Read(into)
}

// ReadDir lists the rest of a folder.
func (o *openedEntry) ReadDir(most int) ([]fs.DirEntry, error) {
	if most <= 0 || most > len(o.listed) {
		if most > 0 && len(o.listed) == 0 {
			return nil, io.EOF
		}
		most = len(o.listed)
	}
	first := o.listed[:most]
	o.listed = o.listed[most:]
	return first, nil
}

// treeInfo is an entry as a FileInfo.
type treeInfo struct {
	name  string
	entry *object.TreeEntry
}

func (i treeInfo) Name() string     { return i.name }
func (treeInfo) Size() int64        { return 0 }
func (treeInfo) ModTime() time.Time { return time.Time{} }
func (i treeInfo) IsDir() bool      { return i.entry.Mode == filemode.Dir }
func (i treeInfo) Sys() any         { return i.entry.Hash.String() }

func (i treeInfo) Mode() fs.FileMode {
	switch i.entry.Mode { //nolint:exhaustive // all others are files
	case filemode.Dir:
		return fs.ModeDir | 0o755
	case filemode.Symlink:
		return fs.ModeSymlink | 0o777
	case filemode.Submodule:
		return fs.ModeIrregular
	default:
		return 0o644
	}
}
