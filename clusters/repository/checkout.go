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
	"slices"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/moult-dev/moult/clusters/repository/lacking"
)

// checkOut writes the files of a revision below a new temporary folder, which is Root from then on. It writes all that may be
// read, or what was named alone if that is a file which leads nowhere else.
//
// Files that the tree beside it has as well are links to these.
func (t *Tree) checkOut(ctx context.Context, beside *Tree, files *object.Tree, inside string, named *object.TreeEntry) error {
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
	t.hashes, t.whole = map[string]string{}, map[string]bool{}
	c := &checkout{tree: t, beside: beside, repository: beside.opened, root: root}
	defer forget(c.repository)
	if err := c.find(ctx, files, inside, named); err != nil {
		return err
	}
	if err := c.fetch(ctx); err != nil {
		return err
	}
	if err := c.writeAll(ctx); err != nil {
		return err
	}
	return c.link()
}

// checkout is one tree being written.
type checkout struct {
	tree       *Tree
	beside     *Tree
	repository *git.Repository
	root       *os.Root
	// files are what is to be written, and links come at the end, so that nothing is written through one.
	files []entry
	links []entry
	// charts are the folders of charts, each with a slash behind it.
	charts  []string
	entries int // seen so far
}

// mostEntries is how many files and folders a revision may have: more than any repository of manifests, and an end to trees that
// hold themselves many times over.
const mostEntries = 300_000

// entry is a file or a link of a tree.
type entry struct {
	name string
	object.TreeEntry
}

// find finds what is to be written.
func (c *checkout) find(ctx context.Context, files *object.Tree, inside string, named *object.TreeEntry) error {
	if alone, err := c.standsAlone(ctx, inside, named); err != nil || alone {
		c.files = append(c.files, entry{inside, *named})
		c.tree.hashes[inside] = hashed(named.Mode, named.Hash.String())
		return errors.Join(err, c.walk(ctx, files, func(name string) bool { return name == SettingsFile }))
	}
	return c.walk(ctx, files, func(string) bool { return true })
}

// SettingsFile is read at the root of a repository, whatever was named (policies/preview.AcknowledgementsFile).
const SettingsFile = ".moult.yaml"

// walk finds the files that are wanted, in all folders.
func (c *checkout) walk(ctx context.Context, files *object.Tree, wanted func(name string) bool) error {
	walker := object.NewTreeWalker(files, true, nil)
	defer walker.Close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, found, err := walker.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if c.entries++; c.entries > mostEntries {
			return fmt.Errorf("it has more than %d files and folders", mostEntries)
		}
		if !wanted(name) {
			continue
		}
		if err := c.take(entry{name, found}); err != nil {
			return fmt.Errorf("%s cannot be written: %w", name, err)
		}
	}
}

// take handles one entry of a tree.
func (c *checkout) take(e entry) error {
	if e.Mode != filemode.Dir {
		c.tree.hashes[e.name] = hashed(e.Mode, e.Hash.String())
	}
	switch e.Mode { //nolint:exhaustive // all others are files
	case filemode.Dir: // is made for what lies in it
	case filemode.Submodule:
		c.tree.addSubmodule(e.name, e.Hash.String())
		c.tree.Notes = append(c.tree.Notes, e.name+" is a submodule, whose content is in another repository and was left out")
		return c.root.MkdirAll(path.Dir(e.name), 0o700)
	case filemode.Symlink:
		c.links = append(c.links, e)
	default:
		c.files = append(c.files, e)
		if folder, isChart := strings.CutSuffix("/"+e.name, "/Chart.yaml"); isChart {
			c.charts = append(c.charts, folder+"/")
		}
	}
	return nil
}

// fetch fetches what a partial clone lacks of what is to be read. What cannot be fetched is noted, and lacking.Mark stands in its place.
func (c *checkout) fetch(ctx context.Context) error {
	var blobs []plumbing.Hash
	for _, e := range slices.Concat(c.files, c.links) {
		if c.reads(e.name) {
			blobs = append(blobs, e.Hash)
		}
	}
	err := fetchMissing(ctx, c.repository, blobs)
	if errors.Is(err, plumbing.ErrObjectNotFound) && ctx.Err() == nil {
		c.tree.Notes = append(c.tree.Notes, err.Error())
		return nil
	}
	return err
}

// content is that of a file. What is no manifest and no data is not read: its hash stands for it.
func (c *checkout) content(e entry) (io.ReadCloser, error) {
	if !c.reads(e.name) {
		return io.NopCloser(strings.NewReader("blob " + e.Hash.String() + "\n")), nil
	}
	blob, err := c.repository.BlobObject(e.Hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) && e.name != SettingsFile {
		return io.NopCloser(strings.NewReader(lacking.Mark + e.Hash.String() + "\n")), nil
	}
	if err != nil {
		return nil, err
	}
	return blob.Reader()
}

// link makes symbolic links, and takes those away again that lead out of the tree, be it through others. One that leads
// nowhere stays, as with Git.
func (c *checkout) link() error {
	for _, link := range c.links {
		blob, err := c.repository.BlobObject(link.Hash)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			err = c.writeFolder([]readFile{{entry: link, content: []byte(lacking.Mark + link.Hash.String() + "\n")}})
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		target, err := object.NewFile(link.name, link.Mode, blob).Contents()
		if err != nil {
			return err
		}
		if err := errors.Join(c.root.MkdirAll(path.Dir(link.name), 0o700), c.root.Symlink(target, link.name)); err != nil {
			return fmt.Errorf("%s cannot be written: %w", link.name, err)
		}
	}
	for _, link := range c.links {
		if _, err := c.root.Stat(link.name); err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := c.root.Remove(link.name); err != nil {
			return err
		}
		c.tree.Notes = append(c.tree.Notes, link.name+" is a symbolic link out of the repository and was left out")
	}
	return nil
}
