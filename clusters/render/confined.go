package render

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"
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

// isFetched tells what Kustomize has cloned.
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
