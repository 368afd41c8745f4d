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
	"runtime"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sync/errgroup"
)

// writeAll writes the files. Most of the time goes into making them on disk, so as many are made at a time as there are
// processors. From Git they are read one after the other.
func (c *checkout) writeAll(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	folders := make(chan []readFile)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			for files := range folders {
				if err := c.writeFolder(files); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(folders)
		return c.readFolders(ctx, folders)
	})
	return group.Wait()
}

// readFile is a file and its content.
type readFile struct {
	entry

	content []byte
	// beside: the tree beside this one has it, so the content was not read.
	beside bool
}

// mostAtOnce is how many files of a folder are in memory at a time.
const mostAtOnce = 64

// readFolders reads the files folder by folder: to open a file by its whole path is to open each folder on the way.
func (c *checkout) readFolders(ctx context.Context, folders chan<- []readFile) error {
	var files []readFile
	for i, e := range c.files {
		file := readFile{entry: e, beside: c.isBeside(e)}
		c.tree.whole[e.name] = c.reads(e.name)
		if !file.beside {
			var err error
			if file.content, err = c.read(e); err != nil {
				return fmt.Errorf("%s cannot be written: %w", e.name, err)
			}
		}
		files = append(files, file)
		if i+1 < len(c.files) && path.Dir(c.files[i+1].name) == path.Dir(e.name) && len(files) < mostAtOnce {
			continue
		}
		select {
		case folders <- files:
			files = nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// isBeside reports whether the tree beside this one has the same file, written in the same way.
func (c *checkout) isBeside(e entry) bool {
	whole, there := c.beside.whole[e.name]
	return there && whole == c.reads(e.name) && c.beside.hashes[e.name] == hashed(e.Mode, e.Hash.String()) && filepath.IsLocal(e.name)
}

// linkBeside makes a file one with that of the tree beside this one, and reports whether it could: a disk may not be able to. On the way
// to a file of a tree there are folders alone.
func (c *checkout) linkBeside(name string) bool {
	return os.Link(c.beside.pathOf(name), c.tree.pathOf(name)) == nil
}

// pathOf is where a file of a revision is.
func (t *Tree) pathOf(name string) string { return filepath.Join(t.Root, filepath.FromSlash(name)) }

func (c *checkout) read(e entry) ([]byte, error) {
	content, err := c.content(e)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	read, err := io.ReadAll(content)
	return c.kept(read), err
}

// writeFolder writes files of one folder.
func (c *checkout) writeFolder(files []readFile) error {
	folder, err := c.openFolder(path.Dir(files[0].name))
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", files[0].name, err)
	}
	defer func() { _ = folder.Close() }()
	for _, f := range files {
		if f.beside && c.linkBeside(f.name) {
			continue
		}
		if f.beside {
			if f.content, err = os.ReadFile(c.beside.pathOf(f.name)); err != nil { // Git is read one after the other
				return fmt.Errorf("%s cannot be written: %w", f.name, err)
			}
		}
		permissions := fs.FileMode(0o600)
		if f.Mode == filemode.Executable {
			permissions = 0o700
		}
		file, err := folder.OpenFile(path.Base(f.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, permissions)
		if err == nil {
			_, err = file.Write(f.content)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return fmt.Errorf("%s cannot be written: %w", f.name, err)
		}
	}
	return nil
}

// openFolder opens a folder, which is made if it is not there.
func (c *checkout) openFolder(name string) (*os.Root, error) {
	folder, err := c.root.OpenRoot(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return folder, err
	}
	if err := c.root.MkdirAll(name, 0o700); err != nil {
		return nil, err
	}
	return c.root.OpenRoot(name)
}
