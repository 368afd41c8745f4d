package render

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/moult-dev/moult/policies/unpacking"
)

// confined is the disk, of which nothing outside of one folder can be read. Flux confines a build to the source's
// folder in the same way; without it, a pull request could have any file of this machine built into a manifest.
type confined struct {
	filesys.FileSystem

	root string // without symbolic links; empty for the whole disk
}

func confine(disk filesys.FileSystem, root string) (filesys.FileSystem, error) {
	if root == "" {
		return disk, nil
	}
	direct, err := filepath.Abs(root)
	if err == nil {
		direct, err = filepath.EvalSymlinks(direct)
	}
	return &confined{FileSystem: disk, root: direct}, err
}

// ReadFile is how Kustomize reads everything but remote files. What it has fetched lies in a folder of its own.
func (c *confined) ReadFile(name string) ([]byte, error) {
	direct, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}
	if !below(c.root, direct) && !isFetched(direct) {
		return nil, fmt.Errorf("%s lies outside of %s, where Flux would not find it either", name, c.root)
	}
	return c.FileSystem.ReadFile(direct)
}

func below(root, path string) bool {
	short, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(short)
}

// isFetched is for what Kustomize has cloned.
func isFetched(path string) bool {
	temporary, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return false
	}
	fetched, err := filepath.Match(filepath.Join(temporary, "kustomize-*"), firstBelow(temporary, path))
	return err == nil && fetched
}

// firstBelow is the folder directly below another that leads to a path.
func firstBelow(dir, path string) string {
	for above := filepath.Dir(path); above != dir; path, above = above, filepath.Dir(above) {
		if above == path {
			return ""
		}
	}
	return path
}

// ReadRegular is os.ReadFile for files that were not named one by one, as those below a folder are. To open a named pipe
// is to wait until somebody writes into it, and a device may have no end: so what is no regular file is an error. So is a
// pointer, whose content is not here (PointerError).
func ReadRegular(name string) ([]byte, error) {
	content, err := ReadAsIs(name)
	if err != nil {
		return nil, err
	}
	if pointer := pointerIn(name, content); pointer != nil {
		return nil, pointer
	}
	return content, nil
}

// ReadAsIs is the same, and gives pointers as they are.
func ReadAsIs(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() && !mode.IsDir() { // os.ReadFile has an error for folders
		return nil, fmt.Errorf("%s is %s, not a file; take it out of the folder", name, special(mode))
	}
	return os.ReadFile(name)
}

func special(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

// regular is the disk, of which only regular files can be read.
type regular struct{ filesys.FileSystem }

// ReadFile is how Kustomize reads everything but remote files.
func (regular) ReadFile(name string) ([]byte, error) {
	content, err := ReadRegular(name)
	if err != nil {
		return nil, err
	}
	if err := unpacking.Bounded(content); err != nil { // Kustomize follows aliases
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return content, nil
}
