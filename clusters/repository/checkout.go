package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// checkOut writes all files of a revision below a new temporary folder, which is Root from then on.
func (t *Tree) checkOut(ctx context.Context, repository *git.Repository, files *object.Tree) error {
	dir, err := os.MkdirTemp("", "moult-tree-")
	if err != nil {
		return err
	}
	t.temporary = dir
	if t.Root, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	// Whatever the tree calls its files, nothing is written outside of the root.
	root, err := os.OpenRoot(t.Root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	c := &checkout{tree: t, repository: repository, root: root}
	if err := c.walk(ctx, files); err != nil {
		return err
	}
	return c.link()
}

// checkout is one tree being written.
type checkout struct {
	tree       *Tree
	repository *git.Repository
	root       *os.Root
	links      []object.File
}

// walk writes files, and leaves links for the end, so that none is written through.
func (c *checkout) walk(ctx context.Context, files *object.Tree) error {
	walker := object.NewTreeWalker(files, true, nil)
	defer walker.Close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, entry, err := walker.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.take(name, entry); err != nil {
			return fmt.Errorf("%s cannot be written: %w", name, err)
		}
	}
}

// take handles one entry of a tree.
func (c *checkout) take(name string, entry object.TreeEntry) error {
	switch entry.Mode { //nolint:exhaustive // all others are files
	case filemode.Dir:
		return c.root.MkdirAll(name, 0o700)
	case filemode.Submodule:
		c.tree.addSubmodule(name, entry.Hash.String())
		c.tree.Notes = append(c.tree.Notes, name+" is a submodule, whose content is in another repository and was left out")
		return nil
	}
	blob, err := c.repository.BlobObject(entry.Hash)
	if err != nil {
		return err
	}
	if entry.Mode == filemode.Symlink {
		c.links = append(c.links, *object.NewFile(name, entry.Mode, blob))
		return nil
	}
	return c.write(name, entry.Mode, blob)
}

func (c *checkout) write(name string, mode filemode.FileMode, blob *object.Blob) error {
	if err := c.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	permissions := fs.FileMode(0o600)
	if mode == filemode.Executable {
		permissions = 0o700
	}
	content, err := blob.Reader()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	file, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, permissions)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// link makes symbolic links, and takes those away again that lead out of the tree, be it through others. One that leads
// nowhere stays, as with Git.
func (c *checkout) link() error {
	for _, file := range c.links {
		target, err := file.Contents()
		if err != nil {
			return err
		}
		if err := errors.Join(c.root.MkdirAll(path.Dir(file.Name), 0o700), c.root.Symlink(target, file.Name)); err != nil {
			return fmt.Errorf("%s cannot be written: %w", file.Name, err)
		}
	}
	for _, file := range c.links {
		if _, err := c.root.Stat(file.Name); err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := c.root.Remove(file.Name); err != nil {
			return err
		}
		c.tree.Notes = append(c.tree.Notes, file.Name+" is a symbolic link out of the repository and was left out")
	}
	return nil
}
