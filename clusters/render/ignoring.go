package render

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// ignoring is the disk, of which some files are as if they were not there.
type ignoring struct {
	filesys.FileSystem

	ignored func(path string, isDir bool) bool
}

// ReadFile is how Kustomize reads everything but remote files.
func (i ignoring) ReadFile(name string) ([]byte, error) {
	if i.ignored(name, false) {
		return nil, &os.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return i.FileSystem.ReadFile(name)
}

// Exists implements filesys.FileSystem.
func (i ignoring) Exists(name string) bool {
	return i.FileSystem.Exists(name) && !i.ignored(name, i.FileSystem.IsDir(name))
}

// IsDir implements filesys.FileSystem.
func (i ignoring) IsDir(name string) bool {
	return i.FileSystem.IsDir(name) && !i.ignored(name, true)
}

// ReadDir implements filesys.FileSystem.
func (i ignoring) ReadDir(name string) ([]string, error) {
	names, err := i.FileSystem.ReadDir(name)
	return slices.DeleteFunc(names, func(one string) bool { return !i.Exists(filepath.Join(name, one)) }), err
}

// Glob implements filesys.FileSystem.
func (i ignoring) Glob(pattern string) ([]string, error) {
	names, err := i.FileSystem.Glob(pattern)
	return slices.DeleteFunc(names, func(one string) bool { return !i.Exists(one) }), err
}

// Walk implements filesys.FileSystem. A folder that is ignored may hold files that are not.
func (i ignoring) Walk(root string, visit filepath.WalkFunc) error {
	return i.FileSystem.Walk(root, func(path string, info fs.FileInfo, err error) error {
		if err == nil && !info.IsDir() && i.ignored(path, false) {
			return nil
		}
		return visit(path, info, err)
	})
}
