package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MostLinks is how many symbolic links may lead to one another.
const MostLinks = 10

// fileWalk visits the files of a folder.
type fileWalk struct {
	root string
	dir  string
	skip func(name string) bool
	// visit gets absolute paths.
	visit func(file string) error
}

// Each visits all regular files below a folder, but for those in folders that are skipped. A symbolic link counts for
// what it leads to inside of the repository, under the link's name, unless that is visited anyway.
func (t *Tree) Each(dir string, skip func(name string) bool, visit func(file string) error) error {
	w := &fileWalk{t.Root, dir, skip, visit}
	return w.folder(dir, 0)
}

// folder visits what is below a folder; links is how many symbolic links led there.
func (w *fileWalk) folder(dir string, links int) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != dir && w.skip(entry.Name()):
			return filepath.SkipDir
		case entry.Type()&fs.ModeSymlink != 0:
			return w.link(file, links+1)
		case entry.Type().IsRegular():
			return w.visit(file)
		}
		return nil
	})
}

func (w *fileWalk) link(file string, links int) error {
	to, err := filepath.EvalSymlinks(file)
	if err != nil || links > MostLinks || !Inside(to, w.root) || w.visits(to) {
		return nil //nolint:nilerr // a link that leads nowhere has no content
	}
	info, err := os.Stat(to)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return w.folder(file+string(filepath.Separator)+".", links) // WalkDir does not follow a link itself
	case info.Mode().IsRegular():
		return w.visit(file)
	}
	return nil
}

// visits reports whether what a link leads to is visited under its own name.
func (w *fileWalk) visits(to string) bool {
	short, err := filepath.Rel(w.dir, to)
	if err != nil || !filepath.IsLocal(short) {
		return false
	}
	folders := strings.Split(short, string(filepath.Separator))
	if info, err := os.Stat(to); err == nil && !info.IsDir() {
		folders = folders[:len(folders)-1]
	}
	return !slices.ContainsFunc(folders, func(name string) bool { return name != "." && w.skip(name) })
}
